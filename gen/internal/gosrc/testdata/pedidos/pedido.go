// Package pedidos holds the messages of the orders service.
//
//idem:contract title="Pedidos" version=1.2.0
package pedidos

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/idem-go/idem/framework/contract"
)

// PedidoCriado says that an order was placed. It comes from the shop.
//
//idem:operation name=faturar topic=pedidos.v1 ttl=7d keyVersion=2 onMissingKey=deadletter
//idem:operation name=faturar maxAttempts=5 quick=0 backoff=200ms..30s factor=3 timeout=10s onBug=deadletter
//idem:operation name=faturar emits=enviarFatura logFields=pedido_id:pedidoId,cidade:/entrega/cidade fingerprint=pedidoId,total
//idem:operation name=reservar topic=pedidos.v1 key=$message.header#/idempotency-key,$message.payload#/pedidoId
//idem:operation name=reservar scope=estoque ordering=none deadLetter=none concurrency=2 ratePerSecond=1.5 summary="Reserves the stock"
//idem:message name=pedido.criado headers=Cabecalhos
type PedidoCriado struct {
	Meta
	// PedidoID is the number of the order.
	PedidoID string    `json:"pedidoId" idem:"key=2,minLength=1,maxLength=40,pattern='^[A-Z0-9,]+$'"`
	Loja     string    `json:"loja" idem:"key=1,enum=sp|rj"`
	Total    int64     `json:"total" idem:"min=1"`
	Criado   time.Time `json:"criado"`
	ID       uuid.UUID `json:"id,omitzero"`

	Status   Status                    `json:"status"`
	Nivel    Nivel                     `json:"nivel,omitempty"` // how urgent it is
	Itens    []Item                    `json:"itens" idem:"minItems=1,maxItems=99"`
	Etiqueta map[string]*string        `json:"etiqueta,omitempty" idem:"maxProperties=3,each.maxLength=5"`
	Nota     *string                   `json:"nota"`
	Desconto *float32                  `json:"desconto,omitzero" idem:"exclusiveMin=0,max=1e2"`
	Cupom    contract.Optional[string] `json:"cupom,omitzero"`
	Extra    json.RawMessage           `json:"extra,omitempty"`
	Entrega  Endereco                  `json:"entrega"`
	Email    string                    `json:"email,omitempty" idem:"format=email"`
	interno  int
	Fora     chan int `json:"-"`
}

// Meta is in every message.
type Meta struct {
	Tipo   string `json:"tipo" idem:"const=criado"`
	Versao uint8  `json:"versao"`
}

type (
	// Item is a line of the order.
	Item struct {
		SKU        string
		Quantidade uint32 `json:"quantidade" idem:"min=1,multipleOf=1"`
		Partes     []Item `json:"partes,omitempty"`
		Bytes      uint64 `json:"bytes,omitempty"`
		Pai        *Item  `json:"pai,omitempty"`
	}
	// Tags are words.
	Tags []string
)

// Cabecalhos are the headers.
type Cabecalhos struct {
	Chave  string `json:"idempotency-key"`
	Origem string `json:"origem,omitempty"`
}
