// A container's health check: exits 0 when the address answers with success. What it prints is in `docker inspect`.
const [url] = process.argv.slice(2);
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(4_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text.trim()}`);
} catch (error) {
  console.error(`${url}: ${error.cause?.message ?? error.message}`);
  process.exit(1);
}
