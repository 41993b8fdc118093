package main

import (
	"path/filepath"
	"time"

	"github.com/idem-go/idem/framework/config"
	"github.com/idem-go/idem/framework/idem"
)

// load reads the configuration; a program built for one transport needs no
// word about it.
func load(shared *config.Flags) (idem.Config, error) {
	src := shared.Source()
	src.Overrides = append(linked(), src.Overrides...)
	return config.Load(src)
}

// forDemo completes a configuration: always a throw-away SQLite file, and, where
// nothing else is asked for, short times, so that the work of a killed instance
// is taken over while somebody is watching.
func forDemo(cfg idem.Config, dir string) idem.Config {
	cfg.SQLite.Path = filepath.Join(dir, "pedidos.db")
	standard := idem.Config{}.WithDefaults()
	unlessSet(&cfg.Queue.Lease, standard.Queue.Lease, 2*time.Second)
	unlessSet(&cfg.Outbox.Lease, standard.Outbox.Lease, 2*time.Second)
	unlessSet(&cfg.Kafka.SessionTimeout, standard.Kafka.SessionTimeout, 6*time.Second) // brokers take no less as they come
	unlessSet(&cfg.DrainTimeout, standard.DrainTimeout, 5*time.Second)
	unlessSet(&cfg.SQLite.Synchronous, standard.SQLite.Synchronous, "normal") // survives a killed process, and waits less for the disk
	unlessSet(&cfg.Postgres.MaxConns, standard.Postgres.MaxConns, 12)
	return cfg
}

func unlessSet[T comparable](field *T, standard, value T) {
	if *field == standard {
		*field = value
	}
}
