package subjects

import (
	"strconv"
	"strings"
)

// Command is the subject of a member's command of one kind, "flotilla.<fleet>.command.<member>.<kind>".
func (f Fleet) Command(member, kind string) string {
	return f.Prefix() + ".command." + member + "." + kind
}

// ParseCommand is the inverse of Command.
func (f Fleet) ParseCommand(subject string) (member, kind string, ok bool) {
	member, kind, slot, ok := f.commandIn("command", subject)
	return member, kind, ok && slot < 0
}

// CommandSlots is how many changes of a member's index are kept beside it, each on a subject of its own.
const CommandSlots = 64

// CommandDelta is the subject of a change of a member's index, by the slot that it lies in: from 0, below CommandSlots.
func (f Fleet) CommandDelta(member string, slot int) string {
	return f.Command(member, CommandPlacement) + "." + strconv.Itoa(slot)
}

// CommandDeltas is every change of a member's index.
func (f Fleet) CommandDeltas(member string) string {
	return f.Command(member, CommandPlacement) + ".*"
}

// ParseCommandDelta is the inverse of CommandDelta.
func (f Fleet) ParseCommandDelta(subject string) (member string, slot int, ok bool) {
	member, _, slot, ok = f.commandIn("command", subject)
	return member, slot, ok && slot >= 0
}

// commandsOf is every command of a member, with the changes of its index.
func (f Fleet) commandsOf(member string) string { return f.Prefix() + ".command." + member + ".>" }

// Hint is the subject on which the server announces a new command, headers only.
func (f Fleet) Hint(member, kind string) string {
	return f.Prefix() + ".hint." + member + "." + kind
}

// Hints is where a member hears of all its commands.
func (f Fleet) Hints(member string) string { return f.Prefix() + ".hint." + member + ".>" }

// ParseHint is the inverse of Hint; what announces a change of an index announces the index.
func (f Fleet) ParseHint(subject string) (member, kind string, ok bool) {
	member, kind, _, ok = f.commandIn("hint", subject)
	return member, kind, ok
}

// Announces reports whether a hint is of the command of a subject, see HintTarget.
func (f Fleet) Announces(hint, command string) bool {
	rest, ok := cutPrefix(hint, f.Prefix()+".hint.")
	return ok && command == f.Prefix()+".command."+rest
}

// Leads is the subject on which a hub says that it leads now and answers requests; without body.
func (f Fleet) Leads() string { return f.Prefix() + ".leads" }

// Forward is the subject on which hubs have the one that leads answer what they were asked, sealed.
func (f Fleet) Forward() string { return f.Prefix() + ".forward" }

// NodeEvent is the subject of the whole state of one node of a member.
func (f Fleet) NodeEvent(member, node string) string {
	return f.nodeEvents(member) + Encode(node)
}

// memberEvents is every event of a member.
func (f Fleet) memberEvents(member string) string { return f.Prefix() + ".event." + member + ".>" }

// nodeEvents is what the subjects of a member's node events begin with, final dot included.
func (f Fleet) nodeEvents(member string) string {
	return f.Prefix() + ".event." + member + ".node."
}

// ParseNodeEvent is the inverse of NodeEvent; false for subjects an agent should not have written, those
// that hold wildcards included.
func (f Fleet) ParseNodeEvent(subject string) (member, node string, ok bool) {
	rest, ok := cutPrefix(subject, f.Prefix()+".event.")
	if !ok {
		return "", "", false
	}
	member, token, ok := strings.Cut(rest, ".node.")
	if !ok || CheckLabel("member", member) != nil {
		return "", "", false
	}
	node, err := Decode(token)
	return member, node, err == nil && node != ""
}

// EventMember is the member that a subject of events is of, whatever it tells.
func (f Fleet) EventMember(subject string) (member string, ok bool) {
	rest, ok := cutPrefix(subject, f.Prefix()+".event.")
	if !ok {
		return "", false
	}
	member, _, ok = strings.Cut(rest, ".")
	return member, ok && CheckLabel("member", member) == nil
}

// AllNodeEvents is the state of every node of a member; "*" stands for any member.
func (f Fleet) AllNodeEvents(member string) string { return f.nodeEvents(member) + "*" }

// NodeInventory is the subject of what a member has beside its nodes: which nodes there must be, pods
// without a node, budgets; "*" stands for any member.
func (f Fleet) NodeInventory(member string) string {
	return f.Prefix() + ".event." + member + nodeInventory
}

// ParseNodeInventory is the inverse of NodeInventory.
func (f Fleet) ParseNodeInventory(subject string) (member string, ok bool) {
	return f.parseInventory(subject, nodeInventory)
}

// Inventory is the subject of a member's versions, node pools and windows; "*" stands for any member.
func (f Fleet) Inventory(member string) string {
	return f.Prefix() + ".event." + member + inventory
}

// The last tokens of the two inventories of a member.
const (
	inventory     = ".inventory"
	nodeInventory = ".nodes"
)

// ParseInventory is the inverse of Inventory.
func (f Fleet) ParseInventory(subject string) (member string, ok bool) {
	return f.parseInventory(subject, inventory)
}

func (f Fleet) parseInventory(subject, suffix string) (member string, ok bool) {
	rest, ok := cutPrefix(subject, f.Prefix()+".event.")
	if !ok {
		return "", false
	}
	member, ok = strings.CutSuffix(rest, suffix)
	return member, ok && CheckLabel("member", member) == nil
}

// AuditEvent is the subject of what happened to one object, "flotilla.<fleet>.audit.<kind>.<name>".
func (f Fleet) AuditEvent(kind, name string) string {
	return f.Prefix() + ".audit." + Encode(kind) + "." + Encode(name)
}

// AuditFilter is AuditEvent with "" standing for any kind or any name.
func (f Fleet) AuditFilter(kind, name string) string {
	return f.Prefix() + ".audit." + filter(kind, name)
}

// AllAudit is every event of every object.
func (f Fleet) AllAudit() string { return f.AuditFilter("", "") }

// Act is the subject of what a person did to one object, "flotilla.<fleet>.act.<kind>.<name>".
func (f Fleet) Act(kind, name string) string {
	return f.Prefix() + ".act." + Encode(kind) + "." + Encode(name)
}

// ActOf is the subject of the copy of an event, by that of the event, which names its object whole.
func (f Fleet) ActOf(event string) (act string, ok bool) {
	rest, ok := cutPrefix(event, f.Prefix()+".audit.")
	return f.Prefix() + ".act." + rest, ok
}

// ActFilter is Act with "" standing for any kind or any name.
func (f Fleet) ActFilter(kind, name string) string { return f.Prefix() + ".act." + filter(kind, name) }

// AllActs is all that people did to every object.
func (f Fleet) AllActs() string { return f.ActFilter("", "") }

func filter(kind, name string) string {
	tokens := [2]string{"*", "*"}
	for i, s := range []string{kind, name} {
		if s != "" {
			tokens[i] = Encode(s)
		}
	}
	return tokens[0] + "." + tokens[1]
}

// AllEvents is every event of every member.
func (f Fleet) AllEvents() string { return f.Prefix() + ".event.>" }

// AllCommands is every command of every member.
func (f Fleet) AllCommands() string { return f.Prefix() + ".command.>" }

// HintTarget is where the server republishes commands to, as a subject transform of AllCommands.
func (f Fleet) HintTarget() string { return f.Prefix() + ".hint.>" }

// APIGroup is the group of the hub's micro service, see API.
func (f Fleet) APIGroup() string { return f.Prefix() + ".api" }

// commandIn reads subjects of commands and hints; slot is -1 where it names none.
func (f Fleet) commandIn(word, subject string) (member, kind string, slot int, ok bool) {
	rest, ok := cutPrefix(subject, f.Prefix()+"."+word+".")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) < 2 || len(tokens) > 3 || tokens[0] == "" || tokens[1] == "" {
		return "", "", 0, false
	}
	if len(tokens) == 2 {
		return tokens[0], tokens[1], -1, true
	}
	slot, err := strconv.Atoi(tokens[2])
	ok = err == nil && tokens[1] == CommandPlacement && slot >= 0 && slot < CommandSlots && strconv.Itoa(slot) == tokens[2]
	return tokens[0], tokens[1], slot, ok
}
