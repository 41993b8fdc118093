//go:build sqlite

package main

import "github.com/idem-go/idem/examples/pedidos/demo"

const tagged = "sqlite"

func builder() demo.Build { return sqliteBuild }
