/*
 * The commands of `tessera`: each gets its own name as argv[0] and returns the
 * exit code (0; 1 failed; 2 misused).
 */
#ifndef TESSERA_TOOLS_COMMANDS_H
#define TESSERA_TOOLS_COMMANDS_H

int tsr_cmd_bench(int argc, char **argv);
int tsr_cmd_calibrate(int argc, char **argv);
int tsr_cmd_cc(int argc, char **argv);
int tsr_cmd_check(int argc, char **argv);
int tsr_cmd_info(int argc, char **argv);
int tsr_cmd_litmus(int argc, char **argv);
int tsr_cmd_perf(int argc, char **argv);
int tsr_cmd_run(int argc, char **argv);
int tsr_cmd_sim(int argc, char **argv);
int tsr_cmd_workload(int argc, char **argv);

#endif
