package api

func init() { goldenKinds[KindNotification] = filled[NotificationPosition] }
