# jobctl's image: the worker, and every other verb. `docker build -t jobctl:0.1.0 .`; with --target rehearsal: the rehearsed cloud.
# The base is Debian with glibc: the Temporal SDK's core has no build for musl (Alpine).
# node:22.23.3-bookworm-slim: the newest tag of Node.js 22 (LTS to 2027-04) that public Dockerfiles named on 2026-11-21.
ARG NODE_IMAGE=node:22.23.3-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# Dependencies first: a change of the sources does not fetch them again. No package of ours needs its install script.
COPY package.json package-lock.json ./
COPY worker/package.json worker/
COPY rehearsal/package.json rehearsal/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# What was compiled was divided among the packages: it is not needed twice.
RUN npm run build -- --force && rm -r dist/.compiled
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund && sh deploy/remove-foreign-binaries.sh node_modules

FROM ${NODE_IMAGE} AS jobctl
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# The other packages; node_modules links to them and to this folder (docs/adr/0031).
COPY --from=build /app/worker/package.json worker/
COPY --from=build /app/worker/dist worker/dist
COPY --from=build /app/rehearsal/package.json rehearsal/
COPY --from=build /app/rehearsal/dist rehearsal/dist
COPY docs docs
COPY examples examples
COPY deploy/health-check.mjs deploy/serve-key-set.mjs ./
RUN ln -s /app/dist/cli/main.js /usr/local/bin/jobctl
# The base's own account, uid 1000.
USER node
# The worker answers inside the container alone. A container that runs another verb has no use for the check: --no-healthcheck.
ENV JOBCTL_HEALTH_PORT=9090
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "/app/health-check.mjs", "http://127.0.0.1:9090/ready"]
# It hands its jobs over: give it 60 s (docker stop --time 60, stop_grace_period).
STOPSIGNAL SIGTERM
ENTRYPOINT ["jobctl"]
CMD ["worker"]

FROM jobctl AS rehearsal
USER root
# What commands on its TPU VMs find: they are processes in this container.
RUN apt-get update && apt-get install -y --no-install-recommends openssh-client procps python3 python3-venv \
  && rm -rf /var/lib/apt/lists/*
RUN mkdir -p /var/lib/jobctl && chown node:node /var/lib/jobctl
COPY deploy/rehearsal /app/deploy/rehearsal
USER node
VOLUME /var/lib/jobctl
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=6 \
  CMD ["node", "/app/health-check.mjs", "http://127.0.0.1:7304/admin/status"]
ENTRYPOINT ["sh", "/app/deploy/rehearsal/start.sh"]
CMD []

# What `docker build` makes without --target.
FROM jobctl
