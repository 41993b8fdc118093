package pedidos

// Status of an order.
type Status string

// The states.
const (
	Aberto Status = "aberto"
	Pago   Status = Status("pa" + "go")
)

// Nivel says how urgent an order is.
type Nivel int8

// The levels.
const (
	_ Nivel = iota
	Baixo
	Alto
)

// Endereco is where an order goes to.
type Endereco struct {
	Cidade string `json:"cidade"`
	Tags   Tags   `json:"tags" idem:"uniqueItems,each.minLength=2"`
}

// FaturaEmitida says that an order was invoiced.
//
//idem:send name=enviarFatura topic=faturas.v1 ordering=pedidoId
//idem:operation name=cobrar topic=faturas.v1 headerKey=idempotency-key transaction=external result=Recibo
//idem:operation name=cobrar dependency=gateway failures=3 openFor=30s probes=1 onConflict=discard
//idem:operation name=arquivar topic=arquivo.v1
type FaturaEmitida struct {
	Tipo     string `json:"tipo" idem:"const=fatura"`
	PedidoID string `json:"pedidoId" idem:"key"`
}

// FaturaCancelada says that an invoice is void.
//
//idem:operation name=arquivar
type FaturaCancelada struct {
	PedidoID string  `json:"pedidoId" idem:"key"`
	Tipo     Status2 `json:"tipo" idem:"const=cancelada"`
}

// Status2 says what became of an invoice.
type Status2 string

const cancelada Status2 = "cancelada"

// Recibo is what the gateway answers.
type Recibo struct {
	Numero string `json:"numero"`
}

func (f FaturaEmitida) Soma() int { return undefinedFunction() }
