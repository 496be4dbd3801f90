package api

// Command is what the commands of all kinds say of themselves: what they are, whom they are for, and
// their place in the order of commands.
type Command interface {
	Addressed() (kind, member string, order Order)
}

// Addressed is what Command asks for.
func (c PlacementCommand) Addressed() (kind, member string, order Order) {
	return c.Kind, c.Member, c.Order
}

// Addressed is what Command asks for.
func (c UpgradeCommand) Addressed() (kind, member string, order Order) {
	return c.Kind, c.Member, c.Order
}

// Addressed is what Command asks for.
func (c DisruptionCommand) Addressed() (kind, member string, order Order) {
	return c.Kind, c.Member, c.Order
}
