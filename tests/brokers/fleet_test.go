package brokers

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/agent/agentd"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/configs"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// reach are bus options for a connection with a creds file or its text.
func (s *system) reach(url, creds, text string) bus.Options {
	return bus.Options{
		Fleet: fleetName, URL: url, Creds: creds, CredsText: []byte(text), Log: zerolog.Nop(), Now: elsewhen.Now,
		Getenv: func(string) string { return "" },
	}
}

// hub starts a hub with the keys of the accounts, whose lease is short.
func (s *system) hub(name string) *hubd.Hub {
	s.Helper()
	h, err := hubd.New(s.hubOptions(name))
	require.NoError(s, err)
	require.NoError(s, h.Start(bustest.Context(s)))
	s.Cleanup(h.Stop)
	return h
}

func (s *system) hubOptions(name string) hubd.Options {
	return hubd.Options{
		Fleet: fleetName, Name: name, Issuing: hubd.Issuing{Accounts: s.accounts}, Bus: s.reach(s.url(), "", ""), Secrets: secrets.Source{Text: bustest.Secrets},
		Log: zerolog.New(zerolog.MultiLevelWriter(zerolog.NewTestWriter(s), &s.log)).Level(zerolog.WarnLevel),
		Lead: store.LeadOptions{
			TTL: 3 * time.Second, Renew: 600 * time.Millisecond, Margin: 600 * time.Millisecond, Poll: 300 * time.Millisecond,
		},
	}
}

// client connects as a person.
func (s *system) client(url, creds, text string) *bus.Conn {
	s.Helper()
	c, err := bus.ConnectClient(bustest.Context(s), s.reach(url, creds, text))
	require.NoError(s, err)
	s.Cleanup(c.Close)
	return c
}

// admin connects as the first admin.
func (s *system) admin() *bus.Conn {
	s.Helper()
	return s.client(s.url(), filepath.Join(s.accounts, "operator.creds"), "")
}

func ask[R any](t testing.TB, c *bus.Conn, verb string, request any) (answer R) {
	t.Helper()
	require.NoError(t, bus.Request(bustest.Context(t), c, verb, request, &answer, bus.RequestOptions{}))
	return answer
}

// enrol makes a token for the agent of a member.
func (s *system) enrol(admin *bus.Conn, member string) *api.Token {
	s.Helper()
	token := ask[api.EnrolResponse](s.TB, admin, api.VerbEnrol, api.EnrolRequest{Name: member}).Token
	return &token
}

// join enrols a member, starts its agent at some servers and admits it.
func (s *system) join(admin *bus.Conn, member, url string) *agentd.Agent {
	s.Helper()
	config := configs.DefaultAgent()
	config.Fleet, config.Member, config.DataDir, config.Bus = fleetName, member, filepath.Join(s.agents, member+"-"+string(uuid.NewUUID())), configs.Bus{URL: url}
	config.Target.Memory.ReadyAfter = configs.Duration(10 * time.Millisecond)
	config.HeartbeatInterval = configs.Duration(time.Second)
	agent, err := agentd.New(agentd.Options{
		Config: config, Token: s.enrol(admin, member), Now: elsewhen.Now,
		Log: zerolog.New(zerolog.MultiLevelWriter(zerolog.NewTestWriter(s), &s.log)).Level(zerolog.WarnLevel).With().Str("member", member).Logger(),
	})
	require.NoError(s, err)
	require.NoError(s, agent.Start(bustest.Context(s)))
	s.Cleanup(func() { require.NoError(s, agent.Stop()) })
	ask[api.ApplyResult](s.TB, admin, api.VerbAdmit, api.AdmitRequest{Request: string(uuid.NewUUID()), Name: member})
	return agent
}

// placed applies a version of a placement and waits until it runs on members.
func (s *system) placed(admin *bus.Conn, version, members int) {
	s.Helper()
	documents, err := configs.Parse("web", fmt.Appendf(nil, `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data: {version: "%d"}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: shop}
stringData: {password: %s}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy: {rollingUpdate: {maxUnavailable: 100%%, unavailablePeriodSeconds: 0}}
`, version, s.secret.Text))
	require.NoError(s, err)
	request := api.ApplyRequest{Request: string(uuid.NewUUID())}
	for _, d := range documents {
		request.Documents = append(request.Documents, d.JSON)
	}
	ask[api.ApplyResponse](s.TB, admin, api.VerbApply, request)
	bustest.EventuallyIn(s, time.Minute, func() error {
		var shown struct {
			Status *api.PlacementStatus `json:"status"`
		}
		err := bus.Request(bustest.Context(s), admin, api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: "web"}, &shown, bus.RequestOptions{})
		if err == nil && (shown.Status == nil || shown.Status.ObservedSnapshot != fmt.Sprint(version) || shown.Status.Counts.Available != members) {
			err = fmt.Errorf("version %d does not run on %d members: %+v", version, members, shown.Status)
		}
		return err
	})
}

// person adds a viewer and connects as one.
func (s *system) person(admin *bus.Conn, name, url string) (c *bus.Conn, creds string) {
	s.Helper()
	added := ask[api.UserAddResponse](s.TB, admin, api.VerbUserAdd, api.UserAddRequest{
		Name: name, Role: api.RoleViewer, Life: metav1.Duration{Duration: time.Hour},
	})
	return s.client(url, "", added.Creds), added.Creds
}
