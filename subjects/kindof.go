package subjects

import (
	"slices"
	"strings"
)

// KindOf is what people call a record of a key by its family, such as "override" or "schedule of placement"; a record that
// stands alone has its key.
func KindOf(key string) string {
	at := slices.IndexFunc(records, func(r Record) bool { return strings.HasPrefix(key, r.Family.prefix) })
	if at < 0 {
		return key
	}
	r := records[at]
	switch {
	case r.Word == "":
		return strings.TrimSuffix(r.Family.prefix, ".")
	case strings.HasSuffix(r.Word, " of"):
		return r.Word + " " + strings.Trim(r.Token, "<>")
	}
	return r.Word
}
