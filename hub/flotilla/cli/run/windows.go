package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/plan"
	"flotilla/core/window"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/cli/show"
)

type windowsOptions struct {
	offline.Source
	offline.Moment
	days   int
	format string
}

func (a commands) windowsCommand() *cobra.Command {
	o := &windowsOptions{}
	cmd := &cobra.Command{
		Use:   "windows [MEMBER…]",
		Short: "Show when members may be upgraded: the maintenance windows of the next two weeks",
		Long: `Show the maintenance windows of members: whether one is open now, which comes next, in UTC and on the clock of its schedule
(LOCAL), and the calendar of the next two weeks in that zone. "upgrades" counts for runs of type Full and ControlPlaneOnly,
"images" for NodeImageOnly, "content" for staged runs of content that keep to windows; without a schedule it may be at any time. A
member that is named is shown window by window.

It asks the hub, or, when files are named, answers from the MemberMaintenances and MemberClusters in them.`,
		Example: `  flotilla windows
  flotilla windows berlin --days 31
  flotilla windows -f maintenance.yaml --now 2026-12-20T00:00:00Z`,
		ValidArgsFunction: a.completeMembers,
		RunE:              a.Do(func(ctx context.Context, args []string) error { return a.windows(ctx, o, args) }),
	}
	o.Source.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.Now, "now", "", "time to begin at, RFC 3339 (default: now)")
	cmd.Flags().IntVar(&o.days, "days", 14, "how many days, 1 to 366")
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json: the stable form of docs/json.md; wide: every window of every member")
	return cmd
}

func (a commands) windows(ctx context.Context, o *windowsOptions, args []string) error {
	if err := a.Format(o.format, "json", "wide"); err != nil {
		return err
	}
	if o.days < 1 || o.days > 366 {
		return session.Usagef("--days: found %d, expected 1 to 366", o.days)
	}
	now, err := o.Time()
	if err != nil {
		return err
	}
	if now.IsZero() {
		now = a.Now()
	}
	maintained, err := a.maintained(ctx, o)
	if err != nil {
		return err
	}
	var missing error
	if len(args) > 0 {
		maintained, missing = narrowed(maintained, args, o.Command("windows"))
	}
	calendar, err := newCalendar(maintained, now.UTC().Truncate(time.Second), o.days)
	if err != nil {
		return err
	}
	return errors.Join(a.printCalendar(o, calendar, len(args) > 0), missing)
}

// narrowed keeps the members that are named, and says which are not there.
func narrowed(members []maintained, names []string, again string) ([]maintained, error) {
	var kept []maintained
	var known []string
	for i := range members {
		known = append(known, members[i].name)
	}
	var missing []error
	for _, arg := range names {
		name := strings.TrimPrefix(arg, "member/")
		i := slices.Index(known, name)
		if i < 0 {
			missing = append(missing, &session.Failure{
				Code: session.ExitDifferent, Message: "there is no member " + name + session.Meant(session.Nearest(name, known)), Next: again,
			})
			continue
		}
		kept = append(kept, members[i])
	}
	return kept, resource.JoinErrors(session.ExitDifferent, missing)
}

// Calendar is what windows -o json prints (docs/json.md).
type Calendar struct {
	From    metav1.Time      `json:"from"`
	To      metav1.Time      `json:"to"`
	Members []calendarMember `json:"members"`
}

// calendarMember is one member with its schedules; none: it may be upgraded at any time.
type calendarMember struct {
	Name      string             `json:"name"`
	Schedules []calendarSchedule `json:"schedules"`
}

// calendarSchedule is one schedule of a member. Opens and Closes are of the window that is open now or
// comes next; null when there is none, or when it does not close.
type calendarSchedule struct {
	Type string `json:"type"` // upgrades, images or content
	// Class is 1 open, 2 opening within 4 hours, 4 closed.
	Class   int              `json:"class"`
	Rule    string           `json:"rule"`
	Zone    string           `json:"zone"`
	Opens   *metav1.Time     `json:"opens"`
	Closes  *metav1.Time     `json:"closes"`
	Windows []calendarWindow `json:"windows"`

	opening window.Opening
	clock   *time.Location
}

// calendarWindow is one window; Closes is null when it does not close.
type calendarWindow struct {
	Opens  metav1.Time  `json:"opens"`
	Closes *metav1.Time `json:"closes"`
}

func newCalendar(members []maintained, from time.Time, days int) (*Calendar, error) {
	c := &Calendar{From: metav1.NewTime(from), To: metav1.NewTime(from.AddDate(0, 0, days)), Members: []calendarMember{}}
	for i := range members {
		member := calendarMember{Name: members[i].name, Schedules: []calendarSchedule{}}
		for _, s := range members[i].schedules() {
			parsed, err := window.Parse("spec."+s.field, s.window, time.LoadLocation)
			if err != nil {
				return nil, session.Refusedf("the maintenance of %s cannot be followed: %v", members[i].name, err)
			}
			member.Schedules = append(member.Schedules, c.schedule(s, parsed))
		}
		c.Members = append(c.Members, member)
	}
	return c, nil
}

func (c *Calendar) schedule(s namedSchedule, parsed *window.Schedule) calendarSchedule {
	now := parsed.At(c.From.Time)
	out := calendarSchedule{
		Type: s.kind, Class: int(now.Class), Rule: window.Rule(s.window), Zone: window.ZoneName(s.window),
		Opens: timeOrNull(now.Opens), Closes: timeOrNull(now.Closes), Windows: []calendarWindow{},
		opening: now, clock: zoneOf(s.window),
	}
	for _, w := range parsed.Between(c.From.Time, c.To.Time) {
		out.Windows = append(out.Windows, calendarWindow{Opens: metav1.NewTime(w.Opens), Closes: timeOrNull(w.Closes)})
	}
	return out
}

func timeOrNull(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

func (a commands) printCalendar(o *windowsOptions, c *Calendar, named bool) error {
	if o.format == "json" {
		return session.PrintJSON(a.Out, c)
	}
	if len(c.Members) == 0 {
		if !named {
			session.Say(a.Err, "no members found\n")
		}
		return nil
	}
	if named || o.format == "wide" {
		return a.printWindows(c)
	}
	w := a.Columns(3)
	session.Say(w, "MEMBER\tFOR\tNOW\tNEXT\tLOCAL\tZONE\t%s\n", weekdays(c))
	for i := range c.Members {
		m := &c.Members[i]
		if len(m.Schedules) == 0 {
			session.Say(w, "%s\tall\tno window\tat any time\t-\t-\t%s\n", m.Name, strings.Repeat("#", c.days()))
		}
		for j := range m.Schedules {
			s := &m.Schedules[j]
			session.Say(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, s.Type, show.OpeningText(s.opening, c.From.Time), s.next(), s.nextLocal(), s.Zone, c.strip(s))
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if i := slices.IndexFunc(c.Members, func(m calendarMember) bool { return len(m.Schedules) > 0 }); i >= 0 {
		if again := o.Command("windows " + c.Members[i].Name); again != "" {
			a.Next("%s", again)
		}
	}
	return nil
}

// next is the window that is open or comes next, in UTC.
func (s *calendarSchedule) next() string {
	if s.Opens == nil {
		return "-"
	}
	return span(plan.Moment(*s.Opens), s.Closes)
}

// nextLocal is the same on the clock of the schedule.
func (s *calendarSchedule) nextLocal() string {
	if s.Opens == nil {
		return "-"
	}
	return s.local(&calendarWindow{Opens: *s.Opens, Closes: s.Closes})
}

// span is "FROM to END", an end on the same day without its date.
func span(from string, end *metav1.Time) string {
	if end == nil {
		return "since " + from
	}
	to := plan.Moment(*end)
	if day, clock, _ := strings.Cut(to, " "); strings.HasPrefix(from, day) {
		to = clock
	}
	return from + " to " + to
}

func (c *Calendar) days() int { return int(c.To.Sub(c.From.Time).Hours()+23) / 24 }

// weekdays are the initials of the days of the calendar, the first one of from.
func weekdays(c *Calendar) string {
	var b strings.Builder
	for d := range c.days() {
		b.WriteByte(c.From.AddDate(0, 0, d).Weekday().String()[0])
	}
	return b.String()
}

// strip has a sign for each day on the clock of the schedule: # some window is open, - none is.
func (c *Calendar) strip(s *calendarSchedule) string {
	var b strings.Builder
	today := c.From.In(s.clock)
	for d := range c.days() {
		from := time.Date(today.Year(), today.Month(), today.Day()+d, 0, 0, 0, 0, s.clock)
		to := time.Date(today.Year(), today.Month(), today.Day()+d+1, 0, 0, 0, 0, s.clock)
		open := slices.ContainsFunc(s.Windows, func(w calendarWindow) bool {
			return w.Opens.Time.Before(to) && (w.Closes == nil || w.Closes.After(from))
		})
		if open {
			b.WriteByte('#')
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// printWindows lists every window, in UTC and on the clock of its schedule.
func (a commands) printWindows(c *Calendar) error {
	for i := range c.Members {
		m := &c.Members[i]
		if i > 0 {
			a.Printf("\n")
		}
		if len(m.Schedules) == 0 {
			a.Printf("%s: no window, it may be upgraded at any time\n", m.Name)
		}
		for j := range m.Schedules {
			s := &m.Schedules[j]
			a.Printf("%s, %s: %s\n  %s, %s\n", m.Name, s.Type, show.OpeningText(s.opening, c.From.Time), s.Rule, s.Zone)
			w := a.Columns(3)
			for _, opened := range s.Windows {
				session.Say(w, "  %s\t%s\t%s\n", span(plan.Moment(opened.Opens), opened.Closes), s.local(&opened), show.Ahead(c.From.Time, opened.Opens.Time))
			}
			if err := w.Flush(); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
	}
	return nil
}

// local is a window on the clock of its schedule, "Sat 02:00 CET, 4h".
func (s *calendarSchedule) local(w *calendarWindow) string {
	text := w.Opens.In(s.clock).Format("Mon 15:04 MST")
	if w.Closes == nil {
		return text
	}
	return text + ", " + shortDuration(w.Closes.Sub(w.Opens.Time))
}

// shortDuration is "4h" or "3h30m".
func shortDuration(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
