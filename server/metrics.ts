import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics that Prometheus reads at /metrics. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #answers: Histogram;
  readonly #decisions: Counter;
  readonly #followers: Gauge;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#answers = new Histogram({
      name: 'jobctl_http_request_seconds',
      help: 'Time to answer, by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    });
    this.#decisions = new Counter({
      name: 'jobctl_http_access_decisions_total',
      help: 'Decisions of the access table, by verb.',
      labelNames: ['verb', 'decision'],
      registers,
    });
    this.#followers = new Gauge({ name: 'jobctl_http_followed_logs', help: 'Logs that are followed now.', registers });
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#answers.observe({ method, route, status: String(status) }, seconds);
  }

  decided(verb: string, decision: string): void {
    this.#decisions.inc({ verb, decision });
  }

  followers(count: number): void {
    this.#followers.set(count);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
