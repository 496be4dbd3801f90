package subjects

import "crypto/sha256"

// LeafPrefix is what the names of users begin with by whom leaf nodes link up in account AGENTS.
const LeafPrefix = "leaf-"

// LeafPermissions are what a leaf node of a name may do in account SYS: hear which accounts changed, and ask what
// changed while it was away.
func LeafPermissions(leaf string) Permissions {
	return Permissions{
		Publish:   []string{"$SYS.REQ.CLAIMS.PACK"},
		Subscribe: []string{PushAccount, "$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE", "$SYS.ACCOUNT.*.CLAIMS.UPDATE", serverInbox(leaf)},
	}
}

// serverInbox is where a server of a name hears answers; nats-server makes it of a hash of the name.
func serverInbox(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	token := sum[:8]
	for i, b := range token {
		token[i] = digits[int(b)%len(digits)]
	}
	return "$SYS._INBOX." + string(token) + ".*"
}
