# Stand-ins for the images that docker-compose.yml names, made where no registry of images is reached: Debian's packages and what
# Go built, with the accounts, folders and entry points of the official ones. images.ts lays the context.
FROM jobctl-test/debian:bookworm AS node
RUN apt-get update && apt-get install --yes --no-install-recommends libstdc++6 && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 1000 --create-home node
COPY node /usr/local/bin/
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
# Whom this computer trusts, for its way to npm's registry.
COPY authorities.crt /etc/ssl/certs/ca-certificates.crt
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt

FROM jobctl-test/debian:bookworm AS postgres
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid 999 --home-dir /var/lib/postgresql postgres \
  && apt-get update && apt-get install --yes --no-install-recommends postgresql-common \
  && sed -ri 's/#(create_main_cluster) .*$/\1 = false/' /etc/postgresql-common/createcluster.conf \
  && apt-get install --yes --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/* \
  && sed -ri "s/^#?(listen_addresses)\s*=.*/\1 = '*'/" /usr/share/postgresql/15/postgresql.conf.sample
ENV PATH=$PATH:/usr/lib/postgresql/15/bin PGDATA=/var/lib/postgresql/data LANG=C.UTF-8
RUN install --directory --owner postgres --group postgres --mode 3777 /var/run/postgresql \
  && install --directory --owner postgres --group postgres --mode 1777 "$PGDATA"
VOLUME /var/lib/postgresql/data
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENTRYPOINT ["docker-entrypoint.sh"]
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]

# nc and wget are busybox's in the official images, which are Alpine's.
FROM jobctl-test/debian:bookworm AS temporal-base
RUN apt-get update && apt-get install --yes --no-install-recommends netcat-openbsd wget && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 1000 --create-home temporal && install --directory --owner temporal /etc/temporal/config

FROM temporal-base AS temporal
WORKDIR /etc/temporal
USER temporal
COPY temporal-server /usr/local/bin/

FROM temporal-base AS admin-tools
WORKDIR /etc/temporal
COPY temporal-sql-tool /usr/local/bin/
USER temporal

# It starts as root, as the official one does.
FROM temporal-base AS ui
WORKDIR /home/ui-server
COPY ui-server ./
RUN chown -R temporal:temporal /home/ui-server && chmod +x start-ui-server.sh
ENTRYPOINT ["./start-ui-server.sh"]
EXPOSE 8080
