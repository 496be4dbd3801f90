package crowd

import (
	"encoding/json"
	"strconv"
)

func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // literals
	}
	return text
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
