package gen

import "github.com/idem-go/idem/gen/internal/model"

func export(c *model.Contract) []byte { return nil }
