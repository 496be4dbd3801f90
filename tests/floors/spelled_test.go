package floors

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spelled are texts that only package subjects puts together: subjects and buckets of NATS and of a fleet, keys of
// records, and names of objects in audit events, which are the end of a subject.
var spelled = regexp.MustCompile(`^(\$(JS|KV|SYS|SRV)\.|_INBOX|KV_|flotilla\.(%s|default)?\.?$|flotilla_(%s)?$|FLOTILLA_%s_` +
	`|(spec\.[a-z]+|snapshot|schedule|verdict|release|disruption|notification|identity)\.(%s)?$` +
	`|(placement|member|object|run|strategy|profile|catalog|maintenance|nodepool|instances|node|stream)/(%s)?$)`)

// typed are words of a person on the command line, which are TYPE/NAME.
const typed = "hub/flotilla"

// TestSubjectsAreSpelledInOnePackage looks at every text of what is built.
func TestSubjectsAreSpelledInOnePackage(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if under(path, "subjects") || under(path, typed) || under(path, "tests") || under(path, "bus/bustest") {
			continue
		}
		for _, file := range parse(t, path) {
			ast.Inspect(file, func(n ast.Node) bool {
				if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING {
					if value, err := strconv.Unquote(text.Value); err == nil && spelled.MatchString(value) {
						t.Errorf("%s spells %q: package subjects, or api.AuditObject, puts it together", path, value)
					}
				}
				return true
			})
		}
	}
}

func TestSpellingIsFound(t *testing.T) {
	for _, wrong := range []string{"$JS.API.STREAM.INFO.", "KV_flotilla_default_state", "spec.run.", "schedule.%s", "run/", "member/%s", "flotilla."} {
		require.True(t, spelled.MatchString(wrong), wrong)
	}
	for _, right := range []string{"flotilla.io/cordoned", "flotilla_leading", "run", "spec.template", "member/berlin is away", "/"} {
		require.False(t, spelled.MatchString(right), right)
	}
}
