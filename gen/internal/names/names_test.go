package names_test

import (
	"go/token"
	"testing"
	"unicode"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/names"
)

func TestGo(t *testing.T) {
	for in, want := range map[string]string{
		"pedidoId": "PedidoID", "order_id": "OrderID", "OrderID": "OrderID", "pedido-criado": "PedidoCriado", "pedido.criado.v1": "PedidoCriadoV1",
		"HTTPServer": "HTTPServer", "apiUrl": "APIURL", "sku": "SKU", "cobrança": "Cobranca", "ação": "Acao", "AÇÃO": "ACAO", "São Paulo": "SaoPaulo",
		"type": "Type", "func": "Func", "error": "Error", "init": "Init", "2fa": "N2fa", "": "X", "日": "X65E5", "a+b": "AB", "ids": "Ids", "x": "X", "idempotency-key": "IdempotencyKey",
	} {
		if got := names.Go(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func FuzzGo(f *testing.F) {
	for _, s := range []string{"pedidoId", "ação", "日本", "\xff", "9", "a\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := names.Go(s)
		if !token.IsIdentifier(got) || !token.IsExported(got) {
			t.Errorf("%q is %q", s, got)
		}
		for _, r := range got {
			if r > unicode.MaxASCII {
				t.Errorf("%q is %q, which is not ASCII", s, got)
			}
		}
	})
}

// A name that is idemgen's own, or two operations of one name, are reported
// with their places.
func TestCheck(t *testing.T) {
	op := func(id string, line int) *model.Operation {
		return &model.Operation{ID: id, GoName: names.Go(id), Pos: diag.Pos{File: "a.yaml", Line: line, Col: 3}}
	}
	payload := &model.Type{Name: "Pedido"}
	msg := func(name string, line int) *model.Message {
		return &model.Message{Name: name, GoName: names.Go(name), Payload: payload, Pos: diag.Pos{File: "a.yaml", Line: line, Col: 5}}
	}
	several := func(dispatch *model.Dispatch, messages ...*model.Message) *model.Contract {
		o := op("o", 1)
		o.Messages, o.Dispatch = messages, dispatch
		return &model.Contract{Operations: []*model.Operation{o}, Messages: messages}
	}
	for _, tc := range []struct {
		name string
		c    *model.Contract
		want string
	}{
		{"two messages of one payload", several(nil, msg("pedido_criado", 3), msg("pedidoCriado", 8)),
			`a.yaml:8:5: IDEM110: message "pedido_criado" and message "pedidoCriado" would both be called PedidoCriado in Go (rename one of them)`},
		{"a message like the method beside it", several(&model.Dispatch{}, msg("decode-message", 3), msg("b", 4)),
			`a.yaml:3:5: IDEM111: message "decode-message" would be called DecodeMessage in Go, as is a method of generated code (rename it)`},
		{"a message like a method elsewhere", several(nil, msg("decode-message", 3)), ""},
		{"fine", &model.Contract{Operations: []*model.Operation{op("faturar", 1), op("cobrar", 2)}}, ""},
		{"taken", &model.Contract{Operations: []*model.Operation{op("handlers", 7)}},
			`a.yaml:7:3: IDEM111: operation "handlers" would be called Handlers in Go, as is a name of generated code (rename it)`},
		{"two operations", &model.Contract{Operations: []*model.Operation{op("fazer_teste", 2), op("fazerTeste", 9)}},
			`a.yaml:9:3: IDEM110: operation "fazer_teste" and operation "fazerTeste" would both be called FazerTeste in Go (rename one of them)`},
		{"a type", &model.Contract{Operations: []*model.Operation{op("pedido", 2)}, Types: []*model.Type{{Name: "PedidoOperation", Source: "a.yaml#/x", Pos: diag.Pos{File: "a.yaml", Line: 4, Col: 1}}}},
			`a.yaml:4:1: IDEM110: operation "pedido" and the schema at a.yaml#/x would both be called PedidoOperation in Go (rename one of them)`},
	} {
		var problems diag.List
		names.Check(tc.c, &problems)
		got := ""
		if all := problems.Sorted(); len(all) > 0 {
			got = all[0].String()
		}
		if got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}
