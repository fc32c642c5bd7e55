/* loop MODE PORT CHECKS TARGETS: what one check costs in bare system calls. A closed loop with 64 in flight over 127.1.0.0 and following, and
 * nothing else: no schedule, no timeout, no count of failures. MODE is icmp, tcp, http or keep. Prints CPU microseconds a check. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FLIGHT = 64 };
static long checks, targets;
static int port;

static double cpu(void) {
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

static void fail(const char *what) {
	perror(what);
	exit(1);
}

static struct sockaddr_in target(long i) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	a.sin_addr.s_addr = htonl(0x7f010000 + i % targets);
	return a;
}

static uint16_t sum(const uint16_t *w, int n) {
	uint32_t s = 0;
	for (; n > 1; n -= 2) s += *w++;
	while (s >> 16) s = (s & 0xffff) + (s >> 16);
	return ~s;
}

static void icmp(void) {
	static struct mmsghdr out[FLIGHT], in[FLIGHT];
	static struct iovec outv[FLIGHT], inv[FLIGHT];
	static struct sockaddr_in to[FLIGHT], from[FLIGHT];
	static char sent[FLIGHT][24], got[FLIGHT][128];
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), size = 8 << 20;
	uint32_t only = ~(1u << ICMP_ECHOREPLY);
	if (fd < 0) fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
	setsockopt(fd, SOL_RAW, 1 /* ICMP_FILTER */, &only, sizeof only);
	for (int i = 0; i < FLIGHT; i++) {
		outv[i] = (struct iovec){sent[i], sizeof sent[i]};
		inv[i] = (struct iovec){got[i], sizeof got[i]};
		out[i].msg_hdr = (struct msghdr){.msg_name = &to[i], .msg_namelen = sizeof to[i], .msg_iov = &outv[i], .msg_iovlen = 1};
		in[i].msg_hdr = (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &inv[i], .msg_iovlen = 1};
	}
	for (long n = 0; n < checks;) {
		for (int i = 0; i < FLIGHT; i++, n++) {
			struct icmphdr *h = (void *)sent[i];
			memset(sent[i], 0, sizeof sent[i]);
			h->type = ICMP_ECHO;
			h->un.echo.id = htons(0xf100);
			memcpy(sent[i] + 8, &n, sizeof n);
			h->checksum = sum((void *)sent[i], sizeof sent[i]);
			to[i] = target(n);
			to[i].sin_port = 0;
		}
		for (int done = 0; done < FLIGHT;) {
			int r = sendmmsg(fd, out + done, FLIGHT - done, 0);
			if (r < 0) fail("sendmmsg");
			done += r;
		}
		while (recvmmsg(fd, in, FLIGHT, MSG_DONTWAIT, 0) > 0) {}
	}
}

static int stream(int epoll) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct epoll_event e = {EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.fd = fd}};
	if (fd < 0) fail("socket");
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
	return fd;
}

/* visits connects over reused sockets, and asks for a page where there is a request. */
static void visits(const char *request) {
	static char asked[1 << 20], buffer[4096];
	struct epoll_event events[256];
	struct sockaddr_in nowhere = {.sin_family = AF_UNSPEC};
	int epoll = epoll_create1(0), idle[FLIGHT], free = 0, off = 0;
	long begun = 0, done = 0;
	while (free < FLIGHT) idle[free++] = stream(epoll);
	while (epoll_wait(epoll, events, 256, 0) > 0) {}
	while (done < checks) {
		for (; free > 0 && begun < checks; begun++) {
			int fd = idle[--free];
			struct sockaddr_in a = target(begun);
			setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
			asked[fd] = 1;
			if (connect(fd, (void *)&a, sizeof a) < 0 && errno != EINPROGRESS) fail("connect");
		}
		int n = epoll_wait(epoll, events, 256, -1);
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			uint32_t what = events[i].events;
			if (!asked[fd] || what & (EPOLLERR | EPOLLHUP)) continue;
			if (request && asked[fd] == 1) {
				if (!(what & EPOLLOUT)) continue;
				send(fd, request, strlen(request), MSG_NOSIGNAL);
				asked[fd] = 2;
				continue;
			}
			if (request && (!(what & EPOLLIN) || recv(fd, buffer, sizeof buffer, 0) <= 0)) continue;
			connect(fd, (void *)&nowhere, sizeof nowhere);
			asked[fd] = 0;
			idle[free++] = fd;
			done++;
		}
	}
}

/* keep asks over connections that stay. They are made before the time counts. */
static double keep(const char *request) {
	static char buffer[4096];
	struct epoll_event events[256], e = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(0), *fds = calloc(targets, sizeof *fds), flight = 0;
	for (long i = 0; i < targets; i++) {
		struct sockaddr_in a = target(i);
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (fds[i] < 0 || connect(fds[i], (void *)&a, sizeof a)) fail("connect");
		e.data.fd = fds[i];
		epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &e);
	}
	double from = cpu();
	for (long begun = 0, done = 0; done < checks;) {
		for (; flight < FLIGHT && begun < checks; begun++, flight++) send(fds[begun % targets], request, strlen(request), MSG_NOSIGNAL);
		int n = epoll_wait(epoll, events, 256, -1);
		for (int i = 0; i < n; i++)
			if (recv(events[i].data.fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) done++, flight--;
	}
	return from;
}

int main(int c, char **v) {
	struct rlimit files;
	if (c != 5) return 2;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	port = atoi(v[2]), checks = atol(v[3]), targets = atol(v[4]);
	double from = cpu();
	if (!strcmp(v[1], "icmp")) icmp();
	else if (!strcmp(v[1], "tcp")) visits(NULL);
	else if (!strcmp(v[1], "http")) visits("GET /health HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
	else from = keep("GET /health HTTP/1.1\r\nHost: t\r\n\r\n");
	printf("%.3f\n", (cpu() - from) / checks);
	return 0;
}
