package subjects

// Permissions are subjects that a NATS user may publish and subscribe to.
type Permissions struct {
	Publish   []string
	Subscribe []string
}

// AgentPermissions are exactly what the agent of one member may do (design.md section 3). Given
// "{{name()}}" they are the template of the scoped signing key.
func (f Fleet) AgentPermissions(member string) Permissions {
	commands := f.Stream(Commands)
	publish := []string{
		f.BucketSubject(Heartbeat, member),
		f.BucketSubject(Result, member+".>"),
		f.Prefix() + ".event." + member + ".>",
	}
	for _, kind := range CommandKinds() {
		publish = append(publish, DirectGet(commands, f.Command(member, kind)))
	}
	publish = append(publish, DirectGet(f.BucketStream(Content), f.BucketSubject(Content, "*")))
	return Permissions{
		Publish:   publish,
		Subscribe: []string{Inbox(member) + ".>", f.Hint(member, "*")},
	}
}
