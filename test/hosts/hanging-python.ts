/** Line numbers are what tests expect. */
const PROGRAM = `import sys, threading, time
def wait():
    open('hangs', 'w').close()
    time.sleep(600)
def all_reduce():
    wait()

def next_batch():
    wait()
def step(place):
    threading.Thread(target=time.sleep, args=(600,), name='feeder', daemon=True).start()
    globals()[place]()
def busy():
    open('hangs', 'w').close()
    while True: sum(x * x for x in range(1000))
step(sys.argv[1])
`;

/** A command whose Python program hangs in \`all_reduce\` or \`next_batch\`, or works without end in \`busy\`; it makes the file \`hangs\` before. */
export const hangsIn = (place: string): string =>
  `cat > train.py <<'PROGRAM'\n${PROGRAM}PROGRAM\npython3 train.py ${place}\n`;
