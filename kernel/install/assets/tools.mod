module modellog-kernel-tools

go 1.26

require (
	github.com/janpfeifer/gonb v0.11.4
	golang.org/x/tools v0.39.1-0.20260109155911-b69ac100ecb7
	golang.org/x/tools/gopls v0.21.1
)

require (
	golang.org/x/mod v0.30.0 // indirect
	golang.org/x/sync v0.18.0 // indirect
)
