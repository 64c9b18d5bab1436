"""Every cell of a SQLite database, one after the other, to stdout: what lies over several pages in the file is whole here."""

import sqlite3
import sys

database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
for table in tables:
    for row in database.execute(f'SELECT * FROM "{table}"'):
        for cell in row:
            sys.stdout.buffer.write(cell if isinstance(cell, bytes) else str(cell).encode())
            sys.stdout.buffer.write(b"\n")
