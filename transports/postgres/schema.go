package postgres

import (
	stdsql "database/sql"
	"errors"
	"fmt"
	"strings"

	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
)

// Schema lets a publisher of watermill-sql, over pgx or database/sql and in
// the user's transaction too, publish to this queue:
//
//	wsql.NewPublisher(db, wsql.PublisherConfig{SchemaAdapter: t.Schema()}, logger)
//
// Subscribers notice within the PollInterval, or at once if [Transport.Wake]
// is called after the commit. Subscribing needs [Transport.Subscriber].
func (t *Transport) Schema() wsql.SchemaAdapter {
	return schema{t: t, insert: t.b.names.fill(`
		INSERT INTO {{.Messages}} (topic, uuid, key, headers, payload)
		SELECT $1::text, m.uuid, m.key, m.headers::bytea[], m.payload
		FROM unnest($2::text::text[], $3::text::bytea[], $4::text::text[], $5::text::bytea[])
			WITH ORDINALITY AS m (uuid, key, headers, payload, nth)
		ORDER BY m.nth`)}
}

type schema struct {
	t      *Transport
	insert string
}

var errPublishOnly = errors.New("postgres: this schema is for watermill-sql's Publisher only: subscribe with Transport.Subscriber")

// InsertQuery passes arrays as text, which every driver can send.
func (s schema) InsertQuery(p wsql.InsertQueryParams) (wsql.Query, error) {
	msgs, err := s.t.Encode(p.Topic, p.Msgs...)
	if err != nil {
		return wsql.Query{}, fmt.Errorf("postgres: %w", err)
	}
	var uuids, keys, headers, payloads arrayText
	for _, m := range msgs {
		uuids.text(&m.UUID)
		keys.bytes(m.Key)
		headers.text(encodeHeaders(m.Headers))
		payloads.bytes(m.Payload)
	}
	return wsql.Query{Query: s.insert, Args: []any{
		p.Topic, uuids.String(), keys.String(), headers.String(), payloads.String(),
	}}, nil
}

// SchemaInitializingQueries are none: [New] and [Migrate] make the tables.
func (schema) SchemaInitializingQueries(wsql.SchemaInitializingQueriesParams) ([]wsql.Query, error) {
	return nil, nil
}

func (schema) SelectQuery(wsql.SelectQueryParams) (wsql.Query, error) {
	return wsql.Query{}, errPublishOnly
}

func (schema) UnmarshalMessage(wsql.UnmarshalMessageParams) (wsql.Row, error) {
	return wsql.Row{}, errPublishOnly
}

func (schema) SubscribeIsolationLevel() stdsql.IsolationLevel { return stdsql.LevelReadCommitted }

// arrayText is the literal of a one-dimensional array in the making.
type arrayText struct{ b strings.Builder }

func (a *arrayText) next() {
	if a.b.Len() > 0 {
		a.b.WriteByte(',')
	}
}

func (a *arrayText) text(s *string) {
	a.next()
	if s == nil {
		a.b.WriteString("NULL")
		return
	}
	a.b.WriteByte('"')
	a.b.WriteString(arrayEscaper.Replace(*s))
	a.b.WriteByte('"')
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (a *arrayText) bytes(v []byte) {
	a.next()
	if v == nil {
		a.b.WriteString("NULL")
		return
	}
	writeBytea(&a.b, v)
}

func (a *arrayText) String() string { return "{" + a.b.String() + "}" }
