package agentd

import (
	"errors"
	"fmt"

	"flotilla/agent/target"
	"flotilla/agent/target/kube"
	"flotilla/agent/target/memory"
	"flotilla/configs"
)

// targets make the member that a configuration describes, by its target.type.
var targets = map[string]func(*Agent) (target.Target, error){
	configs.TargetMemory:     func(a *Agent) (target.Target, error) { return inMemory(&a.o.Config, a.o.Now) },
	configs.TargetKubernetes: onKubernetes,
}

func onKubernetes(a *Agent) (target.Target, error) {
	k, err := asMember(&a.o)
	if err != nil {
		return nil, err
	}
	if k.Claim, err = a.claim(); err != nil {
		return nil, err
	}
	return cluster(&a.o, k)
}

// asMember is who the agent is to the API server of its member.
func asMember(o *Options) (kube.Options, error) {
	k := &o.Config.Target.Kubernetes
	switch {
	case k.Kubeconfig != "":
		config, err := kube.Load(k.Kubeconfig, k.Context)
		return kube.Options{Config: config}, err
	case o.Pod == nil:
		return kube.Options{}, errors.New("the agent does not run in a pod that has a service account: name a kubeconfig, --kubeconfig FILE or target.kubernetes.kubeconfig")
	}
	return kube.Options{Config: o.Pod.Config()}, nil
}

func cluster(o *Options, k kube.Options) (target.Target, error) {
	k.Failed = func(resource string, err error) {
		o.Log.Debug().Err(err).Str("resource", resource).Msg("watching the cluster")
	}
	k.Refused = func(missing kube.Permission) {
		o.Log.Warn().Str("verb", missing.Verb).Str("group", missing.Group).Str("resource", missing.Resource).Str("namespace", missing.Namespace).
			Msg("the API server does not permit this; give the agent's role this verb")
	}
	k.Warned = func(text string) {
		o.Log.Warn().Str("warning", text).Msg("the API server warns of something that was asked of it")
	}
	return kube.New(k)
}

// forbidden is what the member does not permit, of a member that tells; else nil.
func (a *Agent) forbidden() func() []string {
	if guarded, tells := a.target.(interface{ Refused() []string }); tells {
		return guarded.Refused
	}
	return nil
}

// openTarget takes the target that was given, or makes the one that is described.
func (a *Agent) openTarget() error {
	a.target = a.o.Target
	if a.target == nil {
		made, err := targets[a.o.Config.Target.TypeIn(a.o.Pod != nil)](a)
		if err != nil {
			return fmt.Errorf("target: %w", err)
		}
		a.target = made
	}
	a.memory, _ = a.target.(*memory.Member)
	return nil
}

// closeTarget ends what was made, not what was given.
func (a *Agent) closeTarget() error {
	if closer, able := a.target.(interface{ Close() }); able && a.o.Target == nil {
		closer.Close()
	}
	return nil
}
