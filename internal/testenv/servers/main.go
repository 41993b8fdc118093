// Command servers tells which servers the tests of this environment run against, by asking them.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	fmt.Println("servers: " + postgres(ctx, os.Getenv("IDEM_TEST_POSTGRES")))
	fmt.Println("servers: " + kafka(ctx, os.Getenv("IDEM_TEST_KAFKA")))
}

func postgres(ctx context.Context, dsn string) string {
	if dsn == "" {
		return "no PostgreSQL: tests that need it skip"
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "PostgreSQL does not answer: " + err.Error()
	}
	defer func() { _ = conn.Close(ctx) }()
	var version, fsync string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync')`).Scan(&version, &fsync)
	if err != nil {
		return "PostgreSQL does not answer: " + err.Error()
	}
	return fmt.Sprintf("real PostgreSQL %s on %s:%d, fsync %s", version, conn.Config().Host, conn.Config().Port, fsync)
}

func kafka(ctx context.Context, brokers string) string {
	if brokers == "" {
		return "no Kafka: tests use the in-process kfake"
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...))
	if err != nil {
		return "Kafka does not answer: " + err.Error()
	}
	defer client.Close()
	versions, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, client)
	if err != nil {
		return "Kafka does not answer: " + err.Error()
	}
	return fmt.Sprintf("real Kafka %s on %s", kversion.FromApiVersionsResponse(versions).VersionGuess(), brokers)
}
