#!/bin/sh
# Compiles test programs without optimisation, whatever level their package has: to optimise one
# takes longer than it runs, and most of what it runs is in libraries, which keep their levels.
# Cargo knows no levels by target, and runs this in place of the compiler (`RUSTC_WRAPPER`, set by
# `cargo xtask`); what is compiled with and without it is the same to cargo.
#
# Programs whose own tests compute for longer than they are compiled are left as they are, and so is
# all that is compiled for speed (`--release`).
name= test= before=
for word do
  [ "$before" = --crate-name ] && name=$word
  [ "$word" = --test ] && test=yes
  before=$word
done
case $name in
  asynchromix | ostrakon_authbits | ostrakon_field | ostrakon_kernels | ostrakon_onepass \
    | ostrakon_robust)
    test= ;;
esac
count=$#
for word do
  case $test$word in
    yesopt-level=[12]) word=opt-level=0 ;;
  esac
  set -- "$@" "$word"
done
shift $count
exec "$@"
