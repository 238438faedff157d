/*
 * pause: the process of a pod's sandbox. It keeps the pod's namespaces alive, collects
 * the dead children that fall to it when the pod shares one process namespace, and
 * leaves with 0 on SIGTERM or SIGINT. No C library, so that the program is a few
 * hundred bytes; mk.py wraps its code in the smallest file the kernel will run.
 */

#define SIGINT 2
#define SIGTERM 15
#define SIGCHLD 17
#define WNOHANG 1
#define SIG_BLOCK 0
#define BIT(signal) (1UL << ((signal) - 1))

#if defined(__x86_64__)
enum { RT_SIGPROCMASK = 14, RT_SIGTIMEDWAIT = 128, WAIT4 = 61, EXIT_GROUP = 231 };

static inline long call(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
enum { RT_SIGPROCMASK = 135, RT_SIGTIMEDWAIT = 137, WAIT4 = 260, EXIT_GROUP = 94 };

static inline long call(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}
#else
#error "pause is written for x86-64 and arm64"
#endif

void _start(void)
{
	unsigned long wanted = BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGCHLD);
	long size = sizeof wanted;

	/* The kernel drops signals to process 1 that it does not handle, but not blocked ones. */
	call(RT_SIGPROCMASK, SIG_BLOCK, (long)&wanted, 0, size);
	for (;;) {
		/* Several deaths may have come as one SIGCHLD. */
		while (call(WAIT4, -1, 0, WNOHANG, 0) > 0)
			;
		long got = call(RT_SIGTIMEDWAIT, (long)&wanted, 0, 0, size);
		if (got == SIGINT || got == SIGTERM)
			call(EXIT_GROUP, 0, 0, 0, 0);
	}
}
