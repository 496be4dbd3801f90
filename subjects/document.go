package subjects

import (
	"cmp"
	"fmt"
	"strings"

	"flotilla/core/api"
)

// Document renders the address book as Markdown; SUBJECTS.md is that of fleet "<fleet>".
func Document(f Fleet) string {
	var b strings.Builder
	b.WriteString("# Subjects, buckets and keys\n\nGenerated from package `subjects` by `go generate ./subjects`; do not edit.\n\n" +
		"A name in `<…>` is one token: DNS labels as they are, every other byte but letters, digits, `-` and `_` as `=XX` " +
		"(`ns/web` is `ns=2Fweb`).\n\n## Streams and buckets\n\n| name | stream | subjects | holds |\n|---|---|---|---|\n")
	for _, a := range Assets() {
		fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s |\n", a.Name(f), a.StreamName(f), strings.Join(a.Subjects(f), "`, `"), a.Description)
	}
	b.WriteString("\n## Addresses\n\n| in | key or subject | holds | written only by | read by |\n|---|---|---|---|---|\n")
	for _, a := range f.Addresses() {
		in := "core NATS"
		if a.In != "" {
			in = "`" + a.In + "`"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", in, a.Pattern, a.Holds, a.Writer, a.Readers)
	}
	b.WriteString("\n## Accounts\n\nAccount `HUB` has JetStream; `AGENTS` and `PEOPLE` have none; `SYS` is of NATS itself.\n")
	writeExports(&b, AccountAgents, f.Exports())
	writeExports(&b, AccountPeople, f.PeopleExports())
	writeVerbs(&b)
	for _, of := range []struct{ role, who string }{
		{RoleEnrolling, "who holds a token for `<member>`, or its key alone"},
		{RoleJoining, "the agent of `<member>` that nobody admitted yet"},
		{RoleAgent, "the agent of `<member>`"},
	} {
		writePermissions(&b, of.who, f.RolePermissions(of.role, "<member>"))
	}
	for _, role := range api.Roles() {
		writePermissions(&b, "the "+string(role)+" `<person>`", f.permissionsOf("<person>", role))
	}
	writePermissions(&b, "the inspector", f.InspectorPermissions())
	writePermissions(&b, "the hub", f.HubPermissions())
	writePermissions(&b, "the user `"+ClaimsUser+"` of `"+AccountSystem+"`, by whom a hub revokes on servers of others", ClaimsPermissions())
	writePermissions(&b, "the leaf node `edge` in `"+AccountSystem+"`; in `"+AccountAgents+"` it has those of the agents of its members together", LeafPermissions("edge"))
	writeMatrix(&b, f)
	return b.String()
}

// writeExports lists what crosses between account HUB and another one.
func writeExports(b *strings.Builder, account string, exports []Export) {
	fmt.Fprintf(b, "\nAll that crosses from `%s` to `HUB` (stream: the other way):\n\n| what | kind | subject | in `HUB` | who asks is told |\n|---|---|---|---|---|\n", account)
	for _, e := range exports {
		kind := "service"
		if e.Stream {
			kind = "stream"
		}
		told := ""
		if e.Tells {
			told = "yes"
		}
		fmt.Fprintf(b, "| %s | %s | `%s` | `%s` | %s |\n", e.Name, kind, cmp.Or(e.As, e.Subject), e.Subject, told)
	}
}

func writePermissions(b *strings.Builder, who string, p Permissions) {
	fmt.Fprintf(b, "\n## Permissions of %s\n", who)
	for _, list := range []struct {
		verb     string
		subjects []string
	}{{"publish", p.Publish}, {"subscribe", p.Subscribe}} {
		fmt.Fprintf(b, "\nMay %s:\n\n", list.verb)
		for _, s := range list.subjects {
			fmt.Fprintf(b, "- `%s`\n", s)
		}
	}
}
