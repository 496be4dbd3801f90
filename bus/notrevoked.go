package bus

import "fmt"

// NotRevokedError says that servers of others go on to take a key, which the hub may not change.
type NotRevokedError struct {
	Account, Key, Why string
}

// Error says why.
func (e *NotRevokedError) Error() string {
	return fmt.Sprintf("servers go on to take key %s of account %s: %s", e.Key, e.Account, e.Why)
}

// RevokeCommand is what has servers refuse a key, for whoever keeps the operator with nsc.
func RevokeCommand(account, key string) string {
	return fmt.Sprintf("nsc revocations add-user --account %s --user-public-key %s && nsc push --account %s", account, key, account)
}

// RevokeCommandOf is RevokeCommand for a user whose name alone is known, as whoever keeps the operator calls it.
func RevokeCommandOf(account, name string) string {
	return fmt.Sprintf("nsc revocations add-user --account %s --name %s && nsc push --account %s", account, name, account)
}
