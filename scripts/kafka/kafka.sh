# A single Apache Kafka broker in KRaft mode from the jars on Maven Central. Sourced by brokers.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154 # these come from common.sh

kafka_dir=$state/kafka
kafka_cluster_id=aWRlbS10ZXN0LWtyYWZ0IQ # any 16 bytes in base64

kafka_pid() { cat "$kafka_dir/pid" 2>/dev/null || true; }

kafka_running() { is_process "$(kafka_pid)" "$kafka_dir/server.properties"; }

# kafka_port prints the port of the running broker.
kafka_port() { sed -n 's/^advertised.listeners=.*://p' "$kafka_dir/server.properties"; }

kafka_libs() { echo "$cache/kafka-$(cksum <"$root/scripts/kafka/pom.xml" | cut -d' ' -f1)"; }

kafka_up() {
  local controller=$((IDEM_KAFKA_PORT + 1))
  mkdir -p "$kafka_dir"
  {
    cat "$root/scripts/kafka/server.properties"
    echo "listeners=PLAINTEXT://127.0.0.1:$IDEM_KAFKA_PORT,CONTROLLER://127.0.0.1:$controller"
    echo "advertised.listeners=PLAINTEXT://127.0.0.1:$IDEM_KAFKA_PORT"
    echo "controller.quorum.bootstrap.servers=127.0.0.1:$controller"
    echo "log.dirs=$kafka_dir/data"
  } >"$kafka_dir/wanted.properties"
  if kafka_running; then
    cmp -s "$kafka_dir/wanted.properties" "$kafka_dir/server.properties" || say "Kafka keeps its old settings until brokers.sh down"
    return 0
  fi
  kafka_install || { say "Kafka is left out; tests use the in-process kfake instead"; return 0; }
  if listening "$IDEM_KAFKA_PORT" || listening $controller; then
    say "port $IDEM_KAFKA_PORT or $controller is taken by another program: set IDEM_KAFKA_PORT"
    return 1
  fi
  # The controller's address is part of what is stored, so other settings need other data.
  cmp -s "$kafka_dir/wanted.properties" "$kafka_dir/server.properties" || rm -rf "$kafka_dir/data"
  mv "$kafka_dir/wanted.properties" "$kafka_dir/server.properties"

  say "starting Kafka on 127.0.0.1:$IDEM_KAFKA_PORT"
  kafka_start && return 0
  # What a killed broker left may be beyond repair; it is only test data.
  say "starting Kafka again with empty data"
  rm -rf "$kafka_dir/data"
  kafka_start
}

# kafka_install gets Java and the jars. The jars come into a folder of another name first: an
# interrupted download leaves nothing that looks whole.
kafka_install() {
  local libs new
  libs=$(kafka_libs)
  command -v java >/dev/null || apt_install default-jre-headless || { say "Java could not be installed"; return 1; }
  local version
  version=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 17 ] || { say "Kafka needs Java 17, this is Java ${version:-unknown}"; return 1; }
  [ -d "$libs" ] && return 0
  command -v mvn >/dev/null || apt_install maven || { say "Maven could not be installed"; return 1; }

  say "getting Kafka's jars"
  mkdir -p "$cache"
  new=$(mktemp -d "$cache/kafka-new.XXXXXX")
  cp "$root/scripts/kafka/pom.xml" "$new/pom.xml"
  # A second try starts from an empty local repository, in case the usual one is damaged.
  if kafka_resolve "$new" || kafka_resolve "$new" "-Dmaven.repo.local=$new/repository"; then
    mv "$new/libs" "$libs"
    rm -rf "$new"
    return 0
  fi
  tail -n 10 "$new/log" >&2
  rm -rf "$new"
  say "Maven could not get Kafka's jars"
  return 1
}

kafka_resolve() {
  local new=$1
  shift
  rm -rf "$new/libs"
  mvn -q -B -U -f "$new/pom.xml" "$@" dependency:copy-dependencies -DincludeScope=runtime \
    -DoutputDirectory="$new/libs" </dev/null >"$new/log" 2>&1 9>&- && ls "$new"/libs/kafka_2.13-*.jar >/dev/null 2>&1
}

kafka_java() { java "-Dlog4j2.configurationFile=$root/scripts/kafka/log4j2.properties" -cp "$(kafka_libs)/*" "$@"; }

kafka_start() {
  if [ ! -e "$kafka_dir/data/meta.properties" ]; then
    kafka_java kafka.tools.StorageTool format --standalone -t $kafka_cluster_id -c "$kafka_dir/server.properties" \
      </dev/null >"$kafka_dir/format.log" 2>&1 9>&- || { tail -n 20 "$kafka_dir/format.log" >&2; return 1; }
  fi
  rm -f "$kafka_dir/pid"
  : >"$kafka_dir/log"
  # The shell becomes the broker, so its own number is the one to note.
  # shellcheck disable=SC2016
  detached bash -c 'echo $$ >"$1"; shift; log=$1; shift; exec "$@" >>"$log" 2>&1' kafka "$kafka_dir/pid" "$kafka_dir/log" \
    java -Xms256m -Xmx512m "-Dlog4j2.configurationFile=$root/scripts/kafka/log4j2.properties" \
    -cp "$(kafka_libs)/*" kafka.Kafka "$kafka_dir/server.properties"
  wait_until 5 test -s "$kafka_dir/pid"
  if wait_until 120 kafka_decided && kafka_ready; then return 0; fi
  say "Kafka did not start; the end of $kafka_dir/log:"
  tail -n 20 "$kafka_dir/log" >&2
  stop_process "$(kafka_pid)" "$kafka_dir/server.properties" 10
  return 1
}

kafka_ready() { listening "$IDEM_KAFKA_PORT" && grep -q 'Kafka Server started' "$kafka_dir/log"; }

kafka_decided() { kafka_ready || ! is_alive "$(kafka_pid)"; }

is_alive() { kill -0 "$1" 2>/dev/null; }

kafka_down() {
  if kafka_running; then
    say "stopping Kafka"
    stop_process "$(kafka_pid)" "$kafka_dir/server.properties" 20
  fi
  rm -rf "$kafka_dir"
}
