package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KindMemberMaintenance is the kind of MemberMaintenances.
const KindMemberMaintenance = "MemberMaintenance"

// MemberMaintenance holds the maintenance schedules of the member it is named after.
type MemberMaintenance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec MaintenanceConfiguration `json:"spec"`
}

// MaintenanceConfiguration holds schedules under the names AKS gives them. Full and ControlPlaneOnly
// runs consult AutoUpgrade, NodeImageOnly runs NodeOSUpgrade, and staged runs of content that keep to windows Default.
type MaintenanceConfiguration struct {
	AutoUpgrade   *MaintenanceWindow `json:"aksManagedAutoUpgradeSchedule,omitempty"`
	NodeOSUpgrade *MaintenanceWindow `json:"aksManagedNodeOSUpgradeSchedule,omitempty"`
	Default       *MaintenanceWindow `json:"default,omitempty"`
}

// MaintenanceWindow is a schedule of windows. Dates and times are local to UTCOffset or TimeZone.
type MaintenanceWindow struct {
	Schedule MaintenanceSchedule `json:"schedule"`
	// DurationHours is 4 to 24, elapsed hours.
	DurationHours int `json:"durationHours"`
	// StartTime is HH:MM.
	StartTime string `json:"startTime"`
	// StartDate, YYYY-MM-DD, is the first day a window may open; it anchors intervals.
	StartDate string `json:"startDate,omitempty"`
	// UTCOffset is fixed, "+05:30"; TimeZone is an IANA name and follows its clock changes. At most
	// one of them; neither means +00:00.
	UTCOffset       string     `json:"utcOffset,omitempty"`
	TimeZone        string     `json:"timeZone,omitempty"`
	NotAllowedDates []DateSpan `json:"notAllowedDates,omitempty"`
	// WeekAnchor says how weeks count when IntervalWeeks is above 1: FirstMatch (default) from the
	// first matching day, CalendarWeek from the week that holds StartDate.
	WeekAnchor string `json:"weekAnchor,omitempty"`
}

// Week anchors.
const (
	WeekAnchorFirstMatch   = "FirstMatch"
	WeekAnchorCalendarWeek = "CalendarWeek"
)

// MaintenanceSchedule has exactly one of its fields.
type MaintenanceSchedule struct {
	Daily           *DailySchedule           `json:"daily,omitempty"`
	Weekly          *WeeklySchedule          `json:"weekly,omitempty"`
	AbsoluteMonthly *AbsoluteMonthlySchedule `json:"absoluteMonthly,omitempty"`
	RelativeMonthly *RelativeMonthlySchedule `json:"relativeMonthly,omitempty"`
}

// DailySchedule opens every 1 to 7 days.
type DailySchedule struct {
	IntervalDays int `json:"intervalDays"`
}

// WeeklySchedule opens on a day of the week every 1 to 4 weeks.
type WeeklySchedule struct {
	IntervalWeeks int    `json:"intervalWeeks"`
	DayOfWeek     string `json:"dayOfWeek"`
}

// AbsoluteMonthlySchedule opens on a day of the month, or its last day when it is shorter, every 1 to
// 6 months.
type AbsoluteMonthlySchedule struct {
	IntervalMonths int `json:"intervalMonths"`
	DayOfMonth     int `json:"dayOfMonth"`
}

// RelativeMonthlySchedule opens on the First to Fourth or Last of a weekday every 1 to 6 months.
type RelativeMonthlySchedule struct {
	IntervalMonths int    `json:"intervalMonths"`
	WeekIndex      string `json:"weekIndex"`
	DayOfWeek      string `json:"dayOfWeek"`
}

// DateSpan is days on which no window is open, End included.
type DateSpan struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// UpdateWeekdays are the names of days in schedules and gates.
var UpdateWeekdays = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// WeekIndexes are the words for the n-th occurrence of a weekday in a month.
var WeekIndexes = []string{"First", "Second", "Third", "Fourth", "Last"}

// DateLayout is the form of dates in maintenance schedules.
const DateLayout = "2006-01-02"
