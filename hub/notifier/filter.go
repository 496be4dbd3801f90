package notifier

import (
	"slices"
	"strings"

	"flotilla/configs"
	"flotilla/core/api"
)

type filter configs.NotificationFilter

// lets says whether an event is to be sent. What the notifier itself tells of notifications goes
// nowhere, or two that fail would feed each other.
func (f *filter) lets(e *api.Audit) bool {
	return e.By != by &&
		(f.Type == "" || f.Type == e.Type) &&
		oneOf(f.Objects, e.Object) && oneOf(f.Reasons, e.Reason) && oneOf(f.Messages, e.Message) &&
		(len(f.Members) == 0 || e.Member != "" && oneOf(f.Members, e.Member))
}

// oneOf says whether any pattern matches, or there is none.
func oneOf(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return matches(p, text) })
}

// matches says whether a text is as a pattern says, in which * stands for any letters, also none.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}
