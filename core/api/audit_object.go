package api

import "strings"

// Kinds of objects that decisions tell of in audit events; package subjects has those that only the hub tells of.
const (
	AuditBudget    = "budget"
	AuditCheck     = "check"
	AuditEviction  = "eviction"
	AuditMember    = "member"
	AuditNode      = "node"
	AuditNodePool  = "nodepool"
	AuditOverride  = "override"
	AuditPlacement = "placement"
	AuditProfile   = "profile"
	AuditRun       = "run"
	AuditServer    = "server" // of NATS
	AuditStream    = "stream"

	AuditStagedStrategy = "stagedstrategy"
)

// AuditObject is the name of an object in audit events, "<kind>/<name>"; that of a node is "node/<member>/<node>".
func AuditObject(kind string, name ...string) string {
	return kind + "/" + strings.Join(name, "/")
}
