package postgres

import (
	"fmt"
	"hash/fnv"
	"regexp"

	"github.com/jackc/pgx/v5"
)

// names are the database objects of one queue, quoted and with their schema,
// because a transaction of the user's may have another search_path. The
// migrations and statements are templates over them.
type names struct {
	Messages, Topics, Groups, Deliveries, Version string
	FanOut, Advance, Forget                       string
	// TopicLock and ClaimLock are the first half of advisory lock keys; the
	// second half is the hash of a topic or the id of a group. Upkeep is a
	// whole key.
	TopicLock, ClaimLock int32
	Upkeep               int64
	// Channel is unquoted.
	Channel string
}

// prefixPattern leaves room for the longest suffix in an identifier's 63 bytes.
var prefixPattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,31}$`)

func newNames(schema, prefix string) names {
	qualified := func(name string) string {
		return pgx.Identifier{schema, prefix + "queue_" + name}.Sanitize()
	}
	n := names{
		Messages:   qualified("messages"),
		Topics:     qualified("topics"),
		Groups:     qualified("groups"),
		Deliveries: qualified("deliveries"),
		Version:    qualified("version"),
		FanOut:     qualified("fan_out"),
		Advance:    qualified("advance"),
		Forget:     qualified("forget"),
		Channel:    prefix + "queue",
	}
	n.TopicLock = int32(hash(n.Messages + " topic"))
	n.ClaimLock = int32(hash(n.Messages + " claim"))
	n.Upkeep = int64(hash(n.Messages + " upkeep"))
	return n
}

func hash(s string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, s)
	return h.Sum64()
}
