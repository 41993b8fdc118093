//go:build kafka

package main

import "github.com/idem-go/idem/examples/pedidos/demo"

const tagged = "kafka"

func builder() demo.Build { return kafkaBuild }
