package asyncapi

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/diag/diagtest"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// base is a contract without faults; the cases put one in.
const base = `asyncapi: 3.0.0
info: {title: Pedidos, version: 1.0.0}
defaultContentType: application/json
channels:
  pedidos:
    address: pedidos.v1
    messages:
      criado: {$ref: '#/components/messages/criado'}
  faturas:
    address: faturas.v1
    messages:
      emitida: {$ref: '#/components/messages/emitida'}
operations:
  faturar:
    action: receive
    channel: {$ref: '#/channels/pedidos'}
    messages: [{$ref: '#/channels/pedidos/messages/criado'}]
    x-idempotency:
      key: $message.payload#/pedidoId
      emits: [{$ref: '#/operations/emitir'}]
  emitir:
    action: send
    channel: {$ref: '#/channels/faturas'}
components:
  operationTraits:
    padrao: {x-idempotency: {ttl: 7d}}
  messages:
    criado:
      headers:
        type: object
        required: [id, kind]
        properties:
          id: {type: string}
          trace: {type: string}
          kind: {type: string, const: criado}
      payload: {$ref: '#/components/schemas/pedido'}
    emitida:
      payload: {type: object, required: [pedidoId], properties: {pedidoId: {type: string}}}
  schemas:
    pedido:
      type: object
      required: [pedidoId, itens, cliente, nota, tipo]
      properties:
        pedidoId: {type: string}
        tipo: {type: string, const: pedido}
        cupom: {type: string}
        nota: {type: [string, 'null']}
        itens: {type: array, items: {type: object, required: [sku], properties: {sku: {type: string}}}}
        cliente: {type: object, required: [id], properties: {id: {type: integer}, nome: {type: string}}}
`

type badCase struct {
	name  string
	edits []string // old, new, old, new …; a « in new is where a problem is
	codes []diag.Code
	hint  string // part of the first problem's line
	opt   string // defaults of idemgen.yaml
}

const (
	key  = "key: $message.payload#/pedidoId\n"
	emit = "emits: [{$ref: '#/operations/emitir'}]\n"
	// after adds fields to the x-idempotency of the receive operation.
	after = emit + "      "
	snd   = "    action: send\n"
)

var badCases = []badCase{
	// The document.
	{"no version", []string{"asyncapi: 3.0.0\n", "«"}, codes(diag.AsyncAPIVersion), "does not say", ""},
	{"version 2", []string{"3.0.0\n", "«2.6.0\n"}, codes(diag.AsyncAPIVersion), "convert", ""},
	{"version 4", []string{"3.0.0\n", "«4.0.0\n"}, codes(diag.AsyncAPIVersion), "", ""},
	{"version as a number", []string{"3.0.0\n", "«3.0\n"}, codes(diag.AsyncAPIVersion), "", ""},
	{"version of a future", []string{"3.0.0\n", "«3.2.0\n"}, codes(diag.AsyncAPIVersion), "", ""},
	{"OpenAPI", []string{"asyncapi: 3.0.0\n", "«openapi: 3.0.0\n"}, codes(diag.AsyncAPIVersion), "OpenAPI", ""},
	{"unknown field", []string{"channels:\n  pedidos", "«chanels: {}\nchannels:\n  pedidos"}, codes(diag.UnknownField), "did you mean channels?", ""},
	{"unknown field of info", []string{"title: Pedidos,", "title: Pedidos, «titel: x,"}, codes(diag.UnknownField), "did you mean title?", ""},
	{"unknown field of an operation", []string{snd, snd + "    «chanel: x\n"}, codes(diag.UnknownField), "did you mean channel?", ""},
	{"unknown field of a message", []string{"    emitida:\n      payload", "    emitida:\n      «paylod: {}\n      payload"}, codes(diag.UnknownField), "did you mean payload?", ""},
	{"unknown field of a trait", []string{"padrao: {", "padrao: {«action: send, "}, codes(diag.UnknownField), "", ""},
	{"unknown component", []string{"  operationTraits:\n", "  «operationTrait: {}\n  operationTraits:\n"}, codes(diag.UnknownField), "did you mean operationTraits?", ""},
	{"no info", []string{"info: {title: Pedidos, version: 1.0.0}\n", "", "asyncapi: 3", "«asyncapi: 3"}, codes(diag.MissingField), "info", ""},
	{"no title", []string{"info: {title: Pedidos, ", "info: «{"}, codes(diag.MissingField), "title", ""},
	{"title is a number", []string{"title: Pedidos", "title: «7"}, codes(diag.WrongKind), "", ""},
	{"channels is a list", []string{"components:\n", "x-a: 1\ncomponents:\n", "channels:\n  pedidos:", "channels: «[]\nx-channels:\n  pedidos:",
		"#/channels/pedidos'}\n    messages: [", "#/x-channels/pedidos'}\n    messages: [", "#/channels/pedidos/m", "#/x-channels/pedidos/m", "#/channels/faturas", "#/x-channels/faturas"},
		codes(diag.WrongKind), "must be an object", ""},
	{"an operation is text", []string{"  emitir:\n" + snd + "    channel: {$ref: '#/channels/faturas'}\n", "  emitir: «send\n", emit, "emits: []\n"}, codes(diag.WrongKind), "", ""},
	{"action", []string{snd, "    action: «sent\n"}, codes(diag.WrongKind), "did you mean send?", ""},
	{"no action", []string{snd, "", "    channel: {$ref: '#/channels/faturas'}", "    «channel: {$ref: '#/channels/faturas'}", emit, "emits: []\n"}, codes(diag.MissingField), "action", ""},
	{"no channel", []string{snd + "    channel: {$ref: '#/channels/faturas'}\n", "    «action: send\n", emit, "emits: []\n"}, codes(diag.MissingField), "channel", ""},
	{"a channel without reference", []string{"channel: {$ref: '#/channels/faturas'}", "channel: «faturas", emit, "emits: []\n"}, codes(diag.WrongKind), "must be a reference", ""},
	{"a reference to nothing", []string{"channel: {$ref: '#/channels/faturas'}", "channel: {$ref: «'#/channels/fatura'}", emit, "emits: []\n"}, codes(diag.BadRef), "", ""},
	{"no operations", []string{base[strings.Index(base, "  faturar:"):strings.Index(base, "components:")], "", "operations:\n", "«operations: {}\n"}, codes(diag.NoOperations), "", ""},
	// Channels.
	{"no address", []string{"    address: faturas.v1\n    messages", "    «messages"}, codes(diag.BadAddress), "", ""},
	{"address is null", []string{"    address: faturas.v1\n", "    «address: null\n"}, codes(diag.BadAddress), "no address", ""},
	{"address with slashes", []string{"faturas.v1", "«faturas/v1"}, codes(diag.BadAddress), "", ""},
	{"address with parameters", []string{"faturas.v1", "«'faturas.{tenant}'"}, codes(diag.ChannelParameters), "", ""},
	{"parameters", []string{"address: faturas.v1\n", "address: faturas.v1\n    «parameters: {tenant: {}}\n"}, codes(diag.ChannelParameters), "", ""},
	{"no messages in the channel", []string{"    address: faturas.v1\n    messages:\n      emitida: {$ref: '#/components/messages/emitida'}\n", "    «address: faturas.v1\n", emit, "emits: []\n"}, codes(diag.NoMessages), "", ""},
	{"an empty list of messages", []string{snd, snd + "    messages: «[]\n", emit, "emits: []\n"}, codes(diag.NoMessages), "", ""},
	// Messages.
	{"a message of another channel", []string{snd, snd + "    messages: [{$ref: «'#/channels/pedidos/messages/criado'}]\n", emit, "emits: []\n"}, codes(diag.BadMessageRef), "refer to one as '#/channels/faturas/messages/emitida'", ""},
	{"a message of components", []string{snd, snd + "    messages: [{$ref: «'#/components/messages/emitida'}]\n", emit, "emits: []\n"}, codes(diag.BadMessageRef), "", ""},
	{"a message twice", []string{snd, snd + "    messages: [{$ref: '#/channels/faturas/messages/emitida'}, {$ref: «'#/channels/faturas/messages/emitida'}]\n"}, codes(diag.BadMessageRef), "twice", ""},
	{"a message with two names", []string{"emitida: {$ref: '#/components/messages/emitida'}", "«outra: {$ref: '#/components/messages/criado'}"}, codes(diag.MessageName), "", ""},
	{"two messages with one name", []string{"    emitida:\n      payload", "    emitida:\n      name: «criado\n      payload", "    pedido:\n      type: object", "    pedido:\n      «type: object"}, codes(diag.MessageName, diag.NameClash), "", ""},
	{"a name with spaces", []string{"    emitida:\n      payload", "    emitida:\n      name: «fatura emitida\n      payload"}, codes(diag.MessageName), "", ""},
	{"no payload", []string{"      payload: {type: object, required: [pedidoId], properties: {pedidoId: {type: string}}}\n", "      «summary: x\n"}, codes(diag.MissingField), "payload", ""},
	{"Avro", []string{"payload: {type: object, required: [pedidoId], properties: {pedidoId: {type: string}}}", "payload: {schemaFormat: «application/vnd.apache.avro;version=1.9.0, schema: {}}"}, codes(diag.SchemaFormat), "", ""},
	{"a schema without format", []string{"payload: {type: object, required: [pedidoId], properties: {pedidoId: {type: string}}}", "payload: «{schema: {type: object}}"}, codes(diag.MissingField), "schemaFormat", ""},
	{"XML", []string{"    emitida:\n      payload", "    emitida:\n      contentType: «application/xml\n      payload"}, codes(diag.ContentType), "", ""},
	{"XML by default", []string{"defaultContentType: application/json", "defaultContentType: «application/xml"}, codes(diag.ContentType), "", ""},
	{"reply", []string{snd, snd + "    «reply: {channel: {$ref: '#/channels/pedidos'}}\n"}, codes(diag.ReplyUnsupported), "", ""},
	{"nothing tells messages apart", []string{"    address: faturas.v1\n    messages:\n", "    address: faturas.v1\n    «messages:\n      outra: {payload: {type: object}}\n"}, codes(diag.NoDiscriminator), "", ""},
	{"an example without a required member", []string{"    emitida:\n      payload", "    emitida:\n      examples: [{payload: «{x: 1}}]\n      payload"}, codes(diag.BadExample), "", ""},
	{"an example of another type", []string{"    emitida:\n      payload", "    emitida:\n      examples: [{payload: {pedidoId: «7}}]\n      payload"}, codes(diag.BadExample), "", ""},
	// The extension's place.
	{"misspelt extension", []string{"    x-idempotency:\n", "    «x-idempotence:\n", "  faturar:\n", "  «faturar:\n"}, codes(diag.NoKey, diag.Misplaced), "", ""},
	{"extension on a channel", []string{"address: faturas.v1\n", "address: faturas.v1\n    «x-idempotency: {}\n"}, codes(diag.Misplaced), "", ""},
	{"extension on the document", []string{"components:\n", "«x-idempotency: {}\ncomponents:\n"}, codes(diag.Misplaced), "", ""},
	// Its fields.
	{"unknown option", []string{after[:len(emit)], emit + "      «tll: 7d\n"}, codes(diag.UnknownOption), "did you mean ttl?", ""},
	{"unknown option of retry", []string{emit, emit + "      retry: {«attempts: 7}\n"}, codes(diag.UnknownOption), "", ""},
	{"unknown option of the defaults", nil, codes(diag.UnknownOption), "", "{«tll: 7d}"},
	{"wrong option of the defaults", nil, codes(diag.BadDuration), "use 240h", "{ttl: «10days}"},
	{"wrong option in a trait that nobody uses", []string{"ttl: 7d", "ttl: «7"}, codes(diag.BadDuration), "add the unit, such as 7s", ""},
	{"wrong option that is overridden", []string{"    x-idempotency:\n", "    traits: [{x-idempotency: {ttl: «1y}}]\n    x-idempotency:\n      ttl: 7d\n"}, codes(diag.BadDuration), "", ""},
	{"extension is a list", []string{"padrao: {x-idempotency: {ttl: 7d}}", "padrao: {x-idempotency: «[]}"}, codes(diag.BadOption), "", ""},
	{"scope is a number", []string{emit, emit + "      scope: «7\n"}, codes(diag.BadOption), "", ""},
	{"scope with a slash", []string{emit, emit + "      scope: «a/b\n"}, codes(diag.BadName), "", ""},
	{"operation that cannot be a scope", []string{"  faturar:\n", "  «a faturar:\n"}, codes(diag.BadName), "set scope", ""},
	{"keyVersion", []string{emit, emit + "      keyVersion: «0\n"}, codes(diag.BadOption), "", ""},
	{"keyVersion with fraction", []string{emit, emit + "      keyVersion: «1.5\n"}, codes(diag.BadOption), "", ""},
	{"keyVersion of 20 digits", []string{emit, emit + "      keyVersion: «99999999999999999999\n"}, codes(diag.BadOption), "", ""},
	{"ttl in words", []string{emit, emit + "      ttl: «10days\n"}, codes(diag.BadDuration), "use 240h", ""},
	{"ttl in ISO 8601", []string{emit, emit + "      ttl: «P7D\n"}, codes(diag.BadDuration), "use 168h", ""},
	{"ttl without unit", []string{emit, emit + "      ttl: «30\n"}, codes(diag.BadDuration), "such as 30s", ""},
	{"ttl negative", []string{emit, emit + "      ttl: «-7d\n"}, codes(diag.BadDuration), "", ""},
	{"ttl zero", []string{emit, emit + "      ttl: «0s\n"}, codes(diag.BadDuration), "", ""},
	{"ttl of many days", []string{emit, emit + "      ttl: «999999999d\n"}, codes(diag.BadDuration), "", ""},
	{"onMissingKey", []string{emit, emit + "      onMissingKey: «dead-letter\n"}, codes(diag.BadOption), "did you mean deadletter?", ""},
	{"onConflict", []string{emit, emit + "      onConflict: «fail\n"}, codes(diag.BadOption), "", ""},
	{"fingerprint", []string{emit, emit + "      fingerprint: «all\n"}, codes(diag.BadOption), "", ""},
	{"fingerprint of a header", []string{emit, emit + "      fingerprint: [«$message.header#/id]\n"}, codes(diag.BadExpression), "", ""},
	{"fingerprint of nothing", []string{emit, emit + "      fingerprint: [«$message.payload#/total]\n"}, codes(diag.PathAbsent), "", ""},
	{"log field of nothing", []string{emit, emit + "      logFields: {pedido: «$message.payload#/pedido}\n"}, codes(diag.PathAbsent), "did you mean pedidoId?", ""},
	{"log field without a name", []string{emit, emit + "      logFields: {«'a b': $message.payload#/pedidoId}\n"}, codes(diag.BadName), "", ""},
	{"maxAttempts", []string{emit, emit + "      retry: {maxAttempts: «0}\n"}, codes(diag.BadOption), "", ""},
	{"quick", []string{emit, emit + "      retry: {quick: «-1}\n"}, codes(diag.BadOption), "", ""},
	{"backoff without end", []string{emit, emit + "      retry: {backoff: «200ms}\n"}, codes(diag.BadDuration), "", ""},
	{"backoff that shrinks", []string{emit, emit + "      retry: {backoff: «30s..200ms}\n"}, codes(diag.BadOption), "", ""},
	{"backoff longer than the default end", []string{emit, emit + "      retry: {backoff: «{base: 1m}}\n"}, codes(diag.BadOption), "", ""},
	{"factor", []string{emit, emit + "      retry: {backoff: {factor: «0.5}}\n"}, codes(diag.BadOption), "", ""},
	{"onBug", []string{emit, emit + "      retry: {onBug: «stop}\n"}, codes(diag.BadOption), "", ""},
	{"transaction", []string{emit, emit + "      transaction: «mine\n"}, codes(diag.BadOption), "", ""},
	{"result is text", []string{emit, emit + "      transaction: external\n      result: «text\n"}, codes(diag.BadOption), "", ""},
	{"result of an own transaction", []string{emit, emit + "      result: «{type: object}\n"}, codes(diag.ResultOfOwn), "", ""},
	{"concurrency", []string{emit, emit + "      concurrency: «0\n"}, codes(diag.BadOption), "", ""},
	{"ratePerSecond", []string{emit, emit + "      ratePerSecond: «0\n"}, codes(diag.BadOption), "", ""},
	{"deadLetter to itself", []string{emit, emit + "      deadLetter: «pedidos.v1\n"}, codes(diag.DeadLetterLoop), "", ""},
	{"deadLetter to the retries", []string{emit, emit + "      deadLetter: «pedidos.v1.retry.faturar\n"}, codes(diag.DeadLetterLoop), "", ""},
	{"deadLetter to a path", []string{emit, emit + "      deadLetter: «a/b\n"}, codes(diag.BadName), "", ""},
	{"breaker alone", []string{emit, emit + "      breaker: «{failures: 3}\n"}, codes(diag.BreakerAlone), "", ""},
	{"emits is text", []string{emit, "emits: «emitir\n"}, codes(diag.BadOption), "", ""},
	{"emits text", []string{emit, "emits: [«emitir]\n"}, codes(diag.BadOption), "", ""},
	{"emits to a consumer", []string{emit, "emits: [{$ref: «'#/operations/faturar'}]\n"}, codes(diag.BadEmit), "", ""},
	{"emits to a channel", []string{emit, "emits: [{$ref: «'#/channels/faturas'}]\n"}, codes(diag.BadEmit), "", ""},
	{"emits twice", []string{emit, "emits: [{$ref: '#/operations/emitir'}, {$ref: «'#/operations/emitir'}]\n"}, codes(diag.BadEmit), "", ""},
	{"ordering by an expression", []string{emit, emit + "      ordering: «$message.payload#/pedidoId\n"}, codes(diag.BadOrdering), "", ""},
	{"ordering", []string{emit, emit + "      ordering: «strict\n"}, codes(diag.BadOrdering), "", ""},
	{"ordering none of a send", []string{snd, snd + "    x-idempotency: {ordering: «none}\n"}, codes(diag.BadOrdering), "", ""},
	{"ordering of a send by nothing", []string{snd, snd + "    x-idempotency: {ordering: «$message.payload#/id}\n"}, codes(diag.KeyAbsent), "", ""},
	{"ttl of a send", []string{snd, snd + "    x-idempotency: {«ttl: 7d}\n"}, codes(diag.OptionOfReceive), "", ""},
	{"ttl shorter than the retries", []string{emit, emit + "      ttl: «1m\n"}, codes(diag.ShortRetention), "", ""},
	{"retries longer than the ttl", []string{emit, emit + "      retry: «{maxAttempts: 1000, backoff: 1s..1h}\n"}, codes(diag.ShortRetention), "", ""},
	// Keys.
	{"no key", []string{key, "scope: x\n", "  faturar:\n", "  «faturar:\n"}, codes(diag.NoKey), "", ""},
	{"an empty key", []string{key, "key: «[]\n"}, codes(diag.BadOption), "", ""},
	{"the same part twice", []string{key, "key: [$message.payload#/pedidoId, «$message.payload#/pedidoId]\n"}, codes(diag.BadOption), "", ""},
	{"no expression", []string{key, "key: «pedidoId\n"}, codes(diag.BadExpression), "", ""},
	{"the whole payload", []string{key, "key: «$message.payload\n"}, codes(diag.BadExpression), "", ""},
	{"the whole payload with a fragment", []string{key, "key: «$message.payload#\n"}, codes(diag.BadExpression), "", ""},
	{"no pointer", []string{key, "key: «$message.payload#pedidoId\n"}, codes(diag.BadExpression), "write $message.payload#/pedidoId", ""},
	{"plural", []string{key, "key: «$message.headers#/id\n"}, codes(diag.BadExpression), "", ""},
	{"tilde", []string{key, "key: «$message.payload#/a~2\n"}, codes(diag.BadExpression), "", ""},
	{"into a header", []string{key, "key: «$message.header#/id/x\n"}, codes(diag.BadExpression), "", ""},
	{"a header of idem", []string{key, "key: «$message.header#/idem-attempt\n"}, codes(diag.BadExpression), "", ""},
	{"not declared", []string{key, "key: «$message.payload#/pedido\n"}, codes(diag.KeyAbsent), "did you mean pedidoId?", ""},
	{"not declared below", []string{key, "key: «$message.payload#/cliente/cpf\n"}, codes(diag.KeyAbsent), "", ""},
	{"below text", []string{key, "key: «$message.payload#/pedidoId/x\n"}, codes(diag.KeyAbsent), "", ""},
	{"through a list", []string{key, "key: «$message.payload#/itens/0/sku\n"}, codes(diag.KeyAbsent), "", ""},
	{"optional", []string{key, "key: «$message.payload#/cupom\n"}, codes(diag.KeyOptional), "", ""},
	{"optional below", []string{key, "key: «$message.payload#/cliente/nome\n"}, codes(diag.KeyOptional), "", ""},
	{"nullable", []string{key, "key: «$message.payload#/nota\n"}, codes(diag.KeyOptional), "null", ""},
	{"an object", []string{key, "key: «$message.payload#/cliente\n"}, codes(diag.KeyNotScalar), "", ""},
	{"a list", []string{key, "key: «$message.payload#/itens\n"}, codes(diag.KeyNotScalar), "", ""},
	{"a constant", []string{key, "key: «$message.payload#/tipo\n"}, codes(diag.KeyConstant), "", ""},
	{"a header not declared", []string{key, "key: «$message.header#/ide\n"}, codes(diag.KeyAbsent), "did you mean id?", ""},
	{"an optional header", []string{key, "key: «$message.header#/trace\n"}, codes(diag.KeyOptional), "", ""},
	{"no headers", []string{"pedidos/messages/criado'}]", "pedidos/messages/criado'}]", key, "key: «$message.header#/id\n", "      headers:\n        type", "      x-headers:\n        type"}, codes(diag.KeyNoHeaders), "add headers", ""},
	// Several operations.
	{"the same scope", []string{"  emitir:\n", "  outra:\n    action: receive\n    channel: {$ref: '#/channels/pedidos'}\n    x-idempotency: {key: $message.payload#/pedidoId, scope: «faturar}\n  emitir:\n"}, codes(diag.DuplicateScope), "", ""},
	{"two breakers of one dependency", []string{emit, emit + "      dependency: erp\n      breaker: {failures: 3}\n", "  emitir:\n",
		"  outra:\n    action: receive\n    channel: {$ref: '#/channels/pedidos'}\n    x-idempotency: {key: $message.payload#/pedidoId, dependency: erp, breaker: «{failures: 4}}\n  emitir:\n"}, codes(diag.BreakersDiffer), "", ""},
	{"messages that differ", []string{"    messages: [{$ref: '#/channels/pedidos/messages/criado'}]\n", "", "  faturar:\n", "  «faturar:\n",
		"      criado: {$ref: '#/components/messages/criado'}\n", "      criado: {$ref: '#/components/messages/criado'}\n      cancelado:\n        x-idempotency: {ttl: 8d}\n        headers: {type: object, required: [kind], properties: {kind: {const: cancelado, type: string}}}\n        payload: {$ref: '#/components/schemas/pedido'}\n"},
		codes(diag.RecipesDiffer), "ttl", ""},
	// The open proposal.
	{"linear", []string{emit, emit + "    retry: {maxAttempts: 3, strategy: {type: «linear, initialDelay: PT1S, delayIncrement: PT1S}}\n"}, codes(diag.ProposalPart), "", ""},
	{"strategy of no type", []string{emit, emit + "    retry: {maxAttempts: 3, strategy: {type: «fix, delay: PT1S}}\n"}, codes(diag.ProposalPart), "there are fixed, exponential", ""},
	{"delay that is not ISO 8601", []string{emit, emit + "    retry: {maxAttempts: 3, strategy: {type: fixed, delay: «10s}}\n"}, codes(diag.BadDuration), "PT30S", ""},
	{"multiplier", []string{emit, emit + "    retry: {maxAttempts: 3, strategy: {type: exponential, initialDelay: PT1S, multiplier: «0.5}}\n"}, codes(diag.BadOption), "", ""},
	{"unbounded delays", []string{emit, emit + "    retry: {maxAttempts: 100, strategy: «{type: exponential, initialDelay: PT1S, multiplier: 2}}\n"}, codes(diag.ProposalPart), "maxDelay", ""},
	{"retry without strategy", []string{emit, emit + "    retry: «{maxAttempts: 3}\n"}, codes(diag.MissingField), "strategy", ""},
	{"retries on a topic of their own", []string{emit, emit + "    retry: {channel: «{$ref: '#/channels/faturas'}, maxAttempts: 3, strategy: {type: fixed, delay: PT1S}}\n"}, codes(diag.ProposalPart), "pedidos.v1.retry.faturar", ""},
	{"retries of another message", []string{emit, emit + "    retry: {messages: [{$ref: «'#/channels/faturas/messages/emitida'}], maxAttempts: 3, strategy: {type: fixed, delay: PT1S}}\n"}, codes(diag.ProposalPart), "", ""},
	{"retry twice", []string{emit, emit + "      retry: {maxAttempts: 4}\n    «retry: {maxAttempts: 3, strategy: {type: fixed, delay: PT1S}}\n"}, codes(diag.ProposalConflict), "", ""},
	{"retry of a send", []string{snd, snd + "    «retry: {maxAttempts: 3, strategy: {type: fixed, delay: PT1S}}\n"}, codes(diag.ProposalPart), "", ""},
	{"deadLetter twice", []string{emit, emit + "      deadLetter: none\n    «deadLetter: {channel: {$ref: '#/channels/faturas'}}\n"}, codes(diag.ProposalConflict), "", ""},
	{"deadLetter of another message", []string{emit, emit + "    deadLetter: {channel: {$ref: '#/channels/faturas'}, messages: [{$ref: «'#/channels/faturas/messages/emitida'}]}\n"}, codes(diag.ProposalPart), "", ""},
	{"maxWaitTime", []string{emit, emit + "    deadLetter: {channel: {$ref: '#/channels/faturas'}, «maxWaitTime: PT1S}\n"}, codes(diag.ProposalPart), "", ""},
	{"deadLetter without channel", []string{emit, emit + "    deadLetter: «{messages: []}\n"}, codes(diag.MissingField), "", ""},
	{"unknown field of deadLetter", []string{emit, emit + "    deadLetter: {channel: {$ref: '#/channels/faturas'}, «topic: x}\n"}, codes(diag.UnknownField), "", ""},
	// All at once.
	{"several faults", []string{"faturas.v1", "«a b", key, "key: «pedidoId\n", emit, emit + "      ttl: «1y\n", "title: Pedidos, ", "title: Pedidos, «nome: x, "},
		codes(diag.UnknownField, diag.BadAddress, diag.BadExpression, diag.BadDuration), "", ""},
}

func codes(c ...diag.Code) []diag.Code { return c }

// parse loads a contract of one or several files.
func parse(t *testing.T, files map[string]string, opt Options, defaults string) (*model.Contract, []diag.Problem) {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if defaults != "" {
		root["idemgen.yaml"] = &fstest.MapFile{Data: []byte("defaults: " + defaults)}
	}
	var problems diag.List
	set := source.NewSet(root, &problems)
	if defaults != "" {
		opt.Defaults = set.Load("idemgen.yaml", diag.Pos{}).Root.Get("defaults")
	}
	c := Load(set, &problems, "asyncapi.yaml", opt)
	if (c == nil) != (problems.Len() > 0) {
		t.Errorf("contract is nil: %v, %d problems", c == nil, problems.Len())
	}
	return c, problems.Sorted()
}

// Every fault is found, at its place, and nothing else.
func TestBad(t *testing.T) {
	if _, problems := parse(t, map[string]string{"asyncapi.yaml": base}, Options{}, ""); len(problems) > 0 {
		t.Fatalf("the base has problems: %v", problems)
	}
	var seen diagtest.Seen
	for _, tt := range badCases {
		t.Run(tt.name, func(t *testing.T) {
			text := base
			for edit := range slices.Chunk(tt.edits, 2) {
				if strings.Count(text, edit[0]) == 0 {
					t.Fatalf("%q is not in the base", edit[0])
				}
				text = strings.Replace(text, edit[0], edit[1], 1)
			}
			files, places := diagtest.Marked([]string{"asyncapi.yaml"}, map[string]string{"asyncapi.yaml": text})
			defaults, more := diagtest.Marked([]string{"idemgen.yaml"}, map[string]string{"idemgen.yaml": tt.opt})
			for _, p := range more {
				p.Col += len("defaults: ")
				places = append(places, p)
			}
			_, problems := parse(t, files, Options{}, defaults["idemgen.yaml"])
			seen.Add(problems)
			var got, want []string
			for _, p := range problems {
				got = append(got, p.Pos.String()+": "+string(p.Code))
				if p.Message == "" || strings.ContainsAny(p.Message+p.Fix, "\n") || strings.HasSuffix(p.Message, ".") {
					t.Errorf("message %q", p.Message)
				}
			}
			for i, p := range places {
				want = append(want, p.String()+": "+string(tt.codes[min(i, len(tt.codes)-1)]))
			}
			if d := cmp.Diff(want, got); d != "" || len(places) != len(tt.codes) {
				t.Errorf("%s\n%v", d, problems)
			} else if !strings.Contains(problems[0].String(), tt.hint) {
				t.Errorf("%s does not say %q", problems[0], tt.hint)
			}
			t.Log(problems)
		})
	}
	seen.Check(t, 20, 79)
}
