package config_test

import (
	"flag"
	"fmt"

	"github.com/idem-go/idem/framework/config"
)

func ExampleLoad() {
	cfg, err := config.Load(config.Source{
		Env:       []string{"IDEM_KAFKA_BROKERS=localhost:9092"},
		Overrides: []string{"transport=kafka", "consumers.charge.policy.timeout=5s"},
	})
	fmt.Println(cfg.Transport, cfg.Store, cfg.Kafka.Brokers, err)

	_, err = config.Load(config.Source{
		Env:       []string{"IDEM_OUTBOX_BATCH=many"},
		Overrides: []string{"transport=kafak", "consumers.charge.policy.maxAttempts=0"},
	})
	fmt.Println(err)
	// Output:
	// kafka sqlite [localhost:9092] <nil>
	// IDEM_OUTBOX_BATCH: outbox.batch: must be a whole number
	// -set: transport: must be sqlite, postgres, kafka or memory (did you mean kafka?)
	// -set: consumers.charge.policy.maxAttempts: must be at least 1, is 0 (1 is no retry)
}

func ExampleBind() {
	set := flag.NewFlagSet("app", flag.ExitOnError)
	flags := config.Bind(set)
	flags.Key("brokers", "kafka.brokers", "`addresses` of Kafka")
	_ = set.Parse([]string{"-transport", "kafka", "-brokers", "a:9092,b:9092", "-set", "log.level=debug"})

	cfg, err := config.Load(flags.Source())
	fmt.Println(cfg.Transport, cfg.Kafka.Brokers, cfg.Log.Level, err)
	// Output: kafka [a:9092 b:9092] DEBUG <nil>
}
