package resource

// always is a hint that is the same for every object.
func always(command string) func(Ref) string { return func(Ref) string { return command } }

// named is a hint that ends with the name of the object.
func named(command string) func(Ref) string {
	return func(r Ref) string { return command + " " + r.Name }
}

// within is a hint that ends with the name of the object, and where it lies.
func within(command string) func(Ref) string {
	return func(r Ref) string { return command + " " + r.Name + " -n " + r.Namespace }
}

// onMember is a hint about the member that the object is of.
func onMember(command string) func(Ref) string {
	return func(r Ref) string { return command + " -m " + r.member }
}

func rollout(r Ref) string { return "rollout status " + r.String() }

func why(r Ref) string { return "why " + r.String() }
