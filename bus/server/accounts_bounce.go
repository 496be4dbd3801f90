package server

import (
	"os"
	"time"

	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

// bounce watches who connects to the servers, as long as the connection of the keeper lasts.
func (a *Accounts) bounce(nc *nats.Conn, again nudges) (stop func(), err error) {
	if !a.mayBounce() {
		a.reach.Log.Warn().Str("file", a.claimsCreds()).Msg("its credentials are of an older build, which did not cut connections: one user may hold any number of them, send and leave untaken any amount, " +
			"until account SYS gives the permissions that subjects/SUBJECTS.md lists")
		return func() {}, nil
	}
	b := &bouncer{nc: nc, names: a.realm.accountNames(), crowd: a.crowd, log: a.reach.Log}
	return b.watch(again)
}

// mayBounce says that credentials for account SYS let a hub count connections; those that cannot be read say nothing.
func (a *Accounts) mayBounce() bool {
	text, err := os.ReadFile(a.claimsCreds())
	if err != nil {
		return true
	}
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return true
	}
	claims, err := jwt.DecodeUserClaims(token)
	return err != nil || claims.Pub.Allow.Contains(subjects.ListConnections)
}

// Cut cuts all connections of the agent of a member, or of a leaf node, which may come back after ten seconds, as far as this hub leads.
func (a *Accounts) Cut(name string, leaf bool) { a.crowd.cut(agent{name, leaf}, time.Now()) }

// Crowds are the limits of users that are reached on the servers, as far as this hub leads.
func (a *Accounts) Crowds() []Crowd { return a.crowd.crowds(time.Now()) }
