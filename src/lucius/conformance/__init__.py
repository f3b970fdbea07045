"""A black-box test for platform services in any language: the kit plays Lucius.

    cases ──give──▶ ledger ◀──receive, settle, callbacks── desk (HTTP) ◀── the service under test
      ▲                │                                                        ▲
      └──what was said─┘                 subject: start, SIGTERM, kill -9 ──────┘

State: a `Ledger` lives as long as one run and remembers every directive it lent and every reply it heard.
A case gives directives, misbehaves on purpose (the same directive twice, 503, a lease taken away), and
judges what the service said. Cases run one after another; a case that fails leaves a service that is
started anew, so that one fault is told once.

How it fails: a case that finds a fault raises `Failed` with a sentence; one that lacks something (an
example payload, a process to kill) raises `NotJudged`. Whatever else is raised is a fault of the kit.
"""
