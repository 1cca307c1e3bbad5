#!/bin/bash
set -e

ROOT=/srv
export MODE=fast
ROOT=/opt

# Starts it.
start() {
    local pid=$1
    helper() { :; }
}

function stop {
    echo stop
}

if [ -n "$MODE" ]; then
    restart() ( start; )
fi
