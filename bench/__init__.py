"""Benchmarks: how fast, how light and how steady Lucius is, as ratios to baselines measured beside it.

Absolute figures depend on the machine and on what else it does; ratios taken in one run travel better.
Every figure is the median of three, each one measured right after its baseline.

    python -m bench               everything, a few minutes
    python -m bench growth        one part
    python -m bench --full        100,000 jobs for memory instead of a sample
    python -m bench --json        for programs

Parts: throughput (jobs/s and CPU a job), submits, latency, services (one process of the SDK), attempts (its
store alone), starting (its start), temporal (that engine beside a bare workflow), memory, growth. The server
is a real `lucius up` child process with its ledger on disk (`synchronous=FULL`); the load comes from another
process. Both share the cores of this machine, so the generator is kept lean and its own ceiling is printed.
Everything lives in a temporary directory that is removed; LUCIUS_BENCH_DIR says where.
"""
