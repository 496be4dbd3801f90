package users

import (
	"time"

	"flotilla/core/api"
)

// Standing says until when what was given to somebody for their credentials holds at most, zero where the hub knows no
// end of them, and false once it holds no more: the credentials were revoked or renewed, or have ended, or their record
// cannot be read. Whom the hub has no record of is the servers' to know.
func (u *Users) Standing(given *api.Session) (until time.Time, holds bool) {
	stored, _, found := u.user(given.Person)
	if !found {
		return time.Time{}, u.records.Revision(given.Person) == 0
	}
	late := (given.Key == "" || stored.Elsewhere) && !stored.Issued.IsZero() && !stored.Issued.Before(&given.Issued)
	if late || stored.Standing(u.store.Now()) != "Valid" || stored.Refuses(given.Caller()) {
		return time.Time{}, false
	}
	return stored.Ends.Time, true
}

// OnChange has f called with the name of each person whose record came, changed or went; it must not block.
func (u *Users) OnChange(f func(person string)) { u.records.OnChange(f) }
