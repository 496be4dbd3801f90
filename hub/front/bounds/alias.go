package bounds

import (
	"fmt"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// named says which signs stand in the name of an anchor, and ends which may follow one, as readers of YAML have it.
var named, ends = signsOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-"), signsOf(" \t\r\n\x00?:,]}%@`")

func signsOf(text string) (all [256]bool) {
	for _, sign := range []byte(text) {
		all[sign] = true
	}
	return all
}

// aliased refuses a text in YAML parts of which may stand for others: how much these come to does not go by how much was sent. It looks at
// signs alone, and takes a name in a text for what it is outside of one, as readers do not agree on where texts end.
func aliased(text []byte) error {
	if !utf8.Valid(text) {
		return apierrors.NewBadRequest("found YAML that is not in UTF-8, expected UTF-8")
	}
	anchors := map[string]bool{}
	eachName(text, '&', func(name string) bool {
		anchors[name] = true
		return true
	})
	alias := ""
	if len(anchors) > 0 {
		eachName(text, '*', func(name string) bool {
			if anchors[name] {
				alias = name
			}
			return alias == ""
		})
	}
	if alias == "" {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf(
		"found what may be an anchor, &%[1]s, and its alias, *%[1]s, in YAML, expected none: write the value in both places, or send it as JSON, where texts may have such words", short(alias)))
}

// eachName looks at the names that follow a sign, in their order, until it has seen enough.
func eachName(text []byte, sign byte, more func(name string) bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != sign || i > 0 && named[text[i-1]] && text[i-1] != '-' {
			continue
		}
		end := i + 1
		for end < len(text) && named[text[end]] {
			end++
		}
		if end == i+1 || end < len(text) && text[end] < utf8.RuneSelf && !ends[text[end]] {
			continue
		}
		if !more(string(text[i+1 : end])) {
			return
		}
		i = end - 1
	}
}

// short is a name as it is said.
func short(name string) string {
	const most = 40
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}
