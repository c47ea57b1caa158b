package logic
type counted struct{}
