start() {
  if [ -f x ]; then
    echo "unfinished
}

stop() {
  echo )
}
