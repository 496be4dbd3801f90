package bus

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"flotilla/core/api"
	"flotilla/subjects"
)

// anonymous is who asks on servers that know nobody.
const anonymous = "anonymous"

// person is who a connection asks the hub as.
type person struct {
	name string
	role api.Role
}

// personOf reads who a client is from what it connects with: people from the permissions of their
// credentials, hubs may do everything, and whoever has no credentials is taken at their word.
func (e endpoint) personOf(fleet subjects.Fleet) person {
	if e.holder.name == "" && !e.holder.agent {
		return person{name: cmp.Or(e.user, userIn(e.url), anonymous), role: api.RoleAdmin}
	}
	if slices.Contains(e.holder.publish, ">") {
		return person{name: e.holder.name, role: api.RoleAdmin}
	}
	name, role, _ := fleet.PersonIn(e.holder.publish)
	return person{name, role}
}

// userIn is the user that a URL names.
func userIn(servers string) string {
	at, err := url.Parse(servers)
	if err != nil || at.User == nil {
		return ""
	}
	return at.User.Username()
}

// may says whether the connection may use a verb; the server has the last word.
func (c *Conn) may(verb string) error {
	needed := api.NeededFor(verb)
	switch {
	case c.person.role == "":
		return fmt.Errorf("%w: %s in fleet %s: these credentials are those of %s", ErrDenied, verb, c.Fleet.Name, c.holder)
	case !c.person.role.Covers(needed):
		return api.Forbidden(api.Caller{Name: c.person.name, Role: c.person.role}, needed, verb)
	}
	return nil
}

// Person is who asks the hub over the connection, and their role.
func (c *Conn) Person() (name string, role api.Role) { return c.person.name, c.person.role }

// API is the subject on which the connection uses a verb.
func (c *Conn) API(verb string) string { return c.Fleet.API(c.person.role, c.person.name, verb) }
