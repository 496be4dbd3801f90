package resource

import (
	"fmt"
	"strings"

	"flotilla/hub/flotilla/cli/session"
)

// SplitChanges parts the objects from the trailing KEY=VALUE and KEY- arguments.
func SplitChanges(args []string) (objects, changes []string) {
	i := len(args)
	for i > 0 && (strings.Contains(args[i-1], "=") || strings.HasSuffix(args[i-1], "-")) {
		i--
	}
	return args[:i], args[i:]
}

// ParsePairs reads KEY=VALUE and KEY-; nil removes the key.
func ParsePairs(args []string) (map[string]*string, error) {
	pairs := map[string]*string{}
	for _, arg := range args {
		key, value, set := strings.Cut(arg, "=")
		if !set {
			key = strings.TrimSuffix(arg, "-")
		}
		if key == "" {
			return nil, session.Usagef("found %q, expected KEY=VALUE or KEY-", arg)
		}
		if _, twice := pairs[key]; twice {
			return nil, session.Usagef("%s is named twice", fmt.Sprintf("%q", key))
		}
		pairs[key] = nil
		if set {
			pairs[key] = &value
		}
	}
	return pairs, nil
}
