//go:build postgres

package main

import "github.com/idem-go/idem/examples/pedidos/demo"

const tagged = "postgres"

func builder() demo.Build { return postgresBuild }
