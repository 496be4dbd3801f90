package kubernetes

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/configs"
)

// object is one document, as far as tests read it.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Rules    []struct {
		APIGroups, Resources, ResourceNames, Verbs []string
	}
	Subjects         []struct{ Kind, Name, Namespace string }
	Data, StringData map[string]string
	Spec             struct {
		Replicas int
		Selector map[string]any
		Ports    []map[string]any
		Template struct{ Spec podSpec }
	}
}

type podSpec struct {
	Volumes []struct {
		Name   string
		Secret struct{ SecretName string }
	}
	AutomountServiceAccountToken *bool
	Tolerations                  []map[string]string
	SecurityContext              struct {
		RunAsNonRoot   bool
		RunAsUser      int
		SeccompProfile struct{ Type string }
	}
	Containers []struct {
		Ports []struct {
			Name          string
			ContainerPort int
		}
		VolumeMounts                  []struct{ Name, MountPath string }
		Image, ImagePullPolicy        string
		Args                          []string
		LivenessProbe, ReadinessProbe struct {
			HTTPGet struct{ Path, Port string }
		}
		Resources       struct{ Requests, Limits map[string]string }
		SecurityContext struct {
			AllowPrivilegeEscalation, ReadOnlyRootFilesystem *bool
			Capabilities                                     struct{ Drop []string }
		}
	}
}

func rendered(t *testing.T, chart, namespace string, values map[string]any) []object {
	t.Helper()
	files, err := Render(chart, namespace, values)
	require.NoError(t, err)
	var objects []object
	for text := range strings.SplitSeq(Text(files), "\n---\n") {
		var o object
		require.NoError(t, yaml.UnmarshalStrict([]byte(text), new(map[string]any)), text)
		require.NoError(t, yaml.Unmarshal([]byte(text), &o), text)
		require.NotEmpty(t, o.Kind, text)
		objects = append(objects, o)
	}
	return objects
}

func find(t *testing.T, objects []object, kind, name string) object {
	t.Helper()
	i := slices.IndexFunc(objects, func(o object) bool { return o.Kind == kind && o.Metadata.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s %s", kind, name)
	return objects[i]
}

// The kustomize bases on disk are what the templates of the charts make, file for file.
func TestTheBasesAreThoseOfTheTemplates(t *testing.T) {
	want, err := Bases()
	require.NoError(t, err)
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir("kustomize", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(filepath.ToSlash(path), "kustomize/")] = string(text)
		return err
	}))
	require.Equal(t, want, found, "go generate ./configs/kubernetes")
}

// Whatever runs needs no root, writes nothing but its volumes, and says how it does.
func TestPodsAreRestricted(t *testing.T) {
	for name, objects := range map[string][]object{
		"agent":                       rendered(t, Agent, DefaultNamespace, nil),
		"hub":                         rendered(t, Hub, DefaultNamespace, nil),
		"hubs on servers of your own": rendered(t, Hub, DefaultNamespace, map[string]any{"natsURL": "nats://a:4222"}),
		"hub with a page":             rendered(t, Hub, DefaultNamespace, paged),
	} {
		pods := 0
		for _, o := range objects {
			pod := o.Spec.Template.Spec
			if len(pod.Containers) == 0 {
				continue
			}
			pods++
			require.True(t, pod.SecurityContext.RunAsNonRoot, name)
			require.Equal(t, 65532, pod.SecurityContext.RunAsUser, name)
			require.Equal(t, "RuntimeDefault", pod.SecurityContext.SeccompProfile.Type, name)
			for _, c := range pod.Containers {
				require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
				require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
				require.Equal(t, []string{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
				require.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path, name)
				require.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path, name)
				require.NotEmpty(t, c.Resources.Requests["cpu"], name)
				require.NotEmpty(t, c.Resources.Limits["memory"], name)
			}
			if name != "agent" {
				require.False(t, *pod.AutomountServiceAccountToken, name)
			}
		}
		require.Equal(t, 1, pods, name)
	}
}

// No rule says "all": what the agent may do is what is written down.
func TestTheAgentMayDoWhatIsNamed(t *testing.T) {
	rules := 0
	for _, o := range rendered(t, Agent, DefaultNamespace, nil) {
		for _, r := range o.Rules {
			rules++
			require.NotContains(t, slices.Concat(r.APIGroups, r.Resources, r.Verbs), "*", o.Metadata.Name)
			for _, refused := range []string{"escalate", "bind", "impersonate"} {
				require.NotContains(t, r.Verbs, refused, o.Metadata.Name)
			}
		}
	}
	require.Greater(t, rules, 15)
	keys := find(t, rendered(t, Agent, DefaultNamespace, nil), "Role", "flotilla-agent-keys")
	require.Equal(t, []string{"flotilla-agent"}, keys.Rules[0].ResourceNames, "of Secrets it needs its own alone")

	least := rendered(t, Agent, DefaultNamespace, map[string]any{"permissions": map[string]any{"workloads": false, "nodes": false}})
	for _, o := range least {
		if o.Kind == "ClusterRole" {
			for _, r := range o.Rules {
				require.Subset(t, []string{"get", "list", "watch"}, r.Verbs, o.Metadata.Name)
			}
		}
	}
}

// On a management cluster agents have what docs/members.md says: a service account made for them, or their own.
func TestTheManagementClusterLetsAgentsChangeItsClusters(t *testing.T) {
	for agents, wanted := range map[string]string{"": "fleet", "edge": "edge"} {
		objects := rendered(t, Management, "fleet", map[string]any{"agentNamespace": agents, "controlPlanes": []any{"kubeadmcontrolplanes", "others"}})
		binding := find(t, objects, "RoleBinding", "flotilla-management")
		require.Len(t, binding.Subjects, 1)
		require.Equal(t, wanted, binding.Subjects[0].Namespace)
		made := slices.ContainsFunc(objects, func(o object) bool { return o.Kind == "ServiceAccount" && o.Metadata.Namespace == "fleet" })
		require.Equal(t, agents == "", made)
		role := find(t, objects, "Role", "flotilla-management")
		require.Equal(t, "fleet", role.Metadata.Namespace)
		require.Len(t, role.Rules, 3)
		for i, wanted := range [][2][]string{
			{{"clusters"}, {"get", "patch"}}, {{"machinedeployments", "machines"}, {"list", "patch"}}, {{"kubeadmcontrolplanes", "others"}, {"get", "patch"}},
		} {
			require.Equal(t, wanted, [2][]string{role.Rules[i].Resources, role.Rules[i].Verbs})
		}
	}
	least := find(t, rendered(t, Management, "fleet", map[string]any{"controlPlanes": []any{}}), "Role", "flotilla-management")
	require.Len(t, least.Rules, 2)

	pod := find(t, rendered(t, Agent, DefaultNamespace, map[string]any{"managementSecret": "way"}), "Deployment", "flotilla-agent").Spec.Template.Spec
	require.Equal(t, "/etc/flotilla-management", pod.Containers[0].VolumeMounts[3].MountPath)
	require.Equal(t, "way", pod.Volumes[3].Secret.SecretName)
	require.Equal(t, pod.Containers[0].VolumeMounts[3].Name, pod.Volumes[3].Name)
	bare := find(t, rendered(t, Agent, DefaultNamespace, nil), "Deployment", "flotilla-agent").Spec.Template.Spec
	require.Len(t, bare.Volumes, 3)
}

// Values get where they belong, whatever is in them.
func TestValuesAreSetWhole(t *testing.T) {
	token := "a\"b: {{ c }}\n---\n"
	objects := rendered(t, Agent, "edge", map[string]any{
		"createNamespace": true, "image": "registry.example/agent:v1", "token": token, "imagePullPolicy": "Always",
		"tolerations": []map[string]string{{"key": "dedicated", "operator": "Exists"}},
		"config":      map[string]any{"location": "east", "nodes": map[string]any{"enabled": false}},
	})
	find(t, objects, "Namespace", "edge")
	find(t, objects, "Namespace", "flotilla-system")
	require.Equal(t, token, find(t, objects, "Secret", "flotilla-agent-token").StringData["token"])
	for _, o := range objects {
		switch o.Metadata.Name {
		case "flotilla-agent-inventory":
			require.Equal(t, "flotilla-system", o.Metadata.Namespace)
		case "flotilla-agent", "flotilla-agent-keys", "flotilla-agent-token":
			if o.Kind != "ClusterRole" && o.Kind != "ClusterRoleBinding" {
				require.Equal(t, "edge", o.Metadata.Namespace, o.Kind)
			}
		}
	}
	container := find(t, objects, "Deployment", "flotilla-agent").Spec.Template.Spec.Containers[0]
	require.Equal(t, "registry.example/agent:v1", container.Image)
	require.Equal(t, "Always", container.ImagePullPolicy)
	require.Equal(t, []map[string]string{{"key": "dedicated", "operator": "Exists"}}, find(t, objects, "Deployment", "flotilla-agent").Spec.Template.Spec.Tolerations)

	text := find(t, objects, "ConfigMap", "flotilla-agent").Data["agent.yaml"]
	config, err := configs.LoadAgent("agent.yaml", []byte(text))
	require.NoError(t, err)
	require.Equal(t, "east", config.Location)
	require.False(t, config.Nodes.Enabled)
	require.Equal(t, "json", config.Log.Format, "what is not said stays as it was")
}

// Without anything said the settings are those that agents and hubs take, and no token is made.
func TestDefaultsAreTaken(t *testing.T) {
	agent := rendered(t, Agent, DefaultNamespace, nil)
	_, err := configs.LoadAgent("agent.yaml", []byte(find(t, agent, "ConfigMap", "flotilla-agent").Data["agent.yaml"]))
	require.NoError(t, err)
	hub := rendered(t, Hub, DefaultNamespace, nil)
	_, err = configs.LoadHub("hub.yaml", []byte(find(t, hub, "ConfigMap", "flotilla-hub").Data["hub.yaml"]))
	require.NoError(t, err)
	require.Equal(t, 1, find(t, hub, "StatefulSet", "flotilla-hub").Spec.Replicas)
	several := rendered(t, Hub, DefaultNamespace, map[string]any{"natsURL": "nats://a:4222"})
	require.Equal(t, 3, find(t, several, "Deployment", "flotilla-hub").Spec.Replicas)
	require.Contains(t, find(t, several, "Deployment", "flotilla-hub").Spec.Template.Spec.Containers[0].Args, "nats://a:4222")
	for _, o := range agent {
		require.NotContains(t, []string{"flotilla-agent-token", DefaultNamespace}, o.Metadata.Name, o.Kind)
	}
}

// paged are values of a hub with a page.
var paged = map[string]any{"page": map[string]any{
	"enabled": true, "url": "https://fleet.example.com", "hosts": []any{"fleet"}, "service": map[string]any{"type": "LoadBalancer"},
}}

// A hub serves no page unless it is told to; then over TLS, with the Secret that is named, to the Service, and its probes stay.
func TestAHubServesAPageWhereItIsTold(t *testing.T) {
	for kind, servers := range map[string]string{"StatefulSet": "", "Deployment": "nats://a:4222"} {
		without := rendered(t, Hub, DefaultNamespace, map[string]any{"natsURL": servers})
		require.False(t, slices.ContainsFunc(without, func(o object) bool { return o.Metadata.Name == "flotilla-page" }))
		plain := find(t, without, kind, "flotilla-hub").Spec.Template.Spec

		with := rendered(t, Hub, DefaultNamespace, map[string]any{"natsURL": servers, "page": paged["page"]})
		service := find(t, with, "Service", "flotilla-page")
		require.Equal(t, []map[string]any{{"name": "https", "port": 443.0, "targetPort": "page"}}, service.Spec.Ports)
		pod := find(t, with, kind, "flotilla-hub").Spec.Template.Spec
		hub := pod.Containers[0]
		require.Equal(t, plain.Containers[0].ReadinessProbe, hub.ReadinessProbe)
		require.Equal(t, 8480, hub.Ports[len(hub.Ports)-1].ContainerPort)
		require.Equal(t, "page", hub.Ports[len(hub.Ports)-1].Name)
		volume := pod.Volumes[len(pod.Volumes)-1]
		require.Equal(t, "flotilla-page", volume.Secret.SecretName)

		config, err := configs.LoadHub("hub.yaml", []byte(find(t, with, "ConfigMap", "flotilla-hub").Data["hub.yaml"]))
		require.NoError(t, err)
		mount := hub.VolumeMounts[len(hub.VolumeMounts)-1]
		require.Equal(t, volume.Name, mount.Name)
		require.Equal(t, configs.Page{
			Address: "0.0.0.0:8480", URL: "https://fleet.example.com", Hosts: []string{"fleet"},
			TLS: configs.PageTLS{Cert: mount.MountPath + "/tls.crt", Key: mount.MountPath + "/tls.key"},
		}, config.Page)
		require.Equal(t, "json", config.Log.Format, "what is not said stays as it was")
	}
}

func TestAChartThatIsNotThereIsSaid(t *testing.T) {
	_, err := Render("leaf", DefaultNamespace, nil)
	require.ErrorContains(t, err, "chart leaf: ")
}
