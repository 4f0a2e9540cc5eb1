// A test server on the MCP TypeScript SDK 2.x: stdio or Streamable HTTP, for clients of every revision.

import { randomUUID } from 'node:crypto';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    createMcpHandler,
    inputRequired,
    isLegacyRequest,
    Server,
    WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { readArguments, serveHttp, SESSION_NOT_FOUND } from './serving.mjs';
import { ANSWER_SCHEMA, answerOf, asResult, Toolbox, ToolFailed, TOOLS } from './toolbox.mjs';

// The call cannot go on before the client answers; since 2026-07-28 that is a result, not a request.
class InputNeeded extends Error {
    constructor(request) {
        super('input needed');
        this.result = inputRequired({ inputRequests: { answer: request } });
    }
}

function callerOf({ mcpReq }) {
    const ask = (request, askNow) => {
        if (mcpReq.envelope === undefined) return askNow(request.params).then(answerOf);
        if (mcpReq.inputResponses?.answer === undefined) throw new InputNeeded(request);
        return answerOf(mcpReq.inputResponses.answer);
    };
    return {
        async progress(progress, total) {
            const progressToken = mcpReq._meta?.progressToken;
            if (progressToken === undefined) return;
            await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
        },
        askUser: message =>
            ask(inputRequired.elicit({ message, requestedSchema: ANSWER_SCHEMA }), mcpReq.elicitInput),
        askModel(text) {
            const messages = [{ role: 'user', content: { type: 'text', text } }];
            return ask(inputRequired.createMessage({ messages, maxTokens: 100 }), mcpReq.requestSampling);
        }
    };
}

function makeServer(toolbox) {
    const server = new Server({ name: 'agentfence-test-ts2', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools: TOOLS }));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
        try {
            return asResult(await toolbox.call(params.name, params.arguments, callerOf(context)));
        } catch (error) {
            if (error instanceof InputNeeded) return error.result;
            if (error instanceof ToolFailed) return { ...asResult(error.message), isError: true };
            throw error;
        }
    });
    return server;
}

const args = readArguments();
const toolbox = new Toolbox(args.record);
const sessions = new Map();
const modern = createMcpHandler(() => makeServer(toolbox), {
    legacy: 'reject',
    responseMode: args.json ? 'json' : 'auto'
});

async function openSession() {
    const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: args.json,
        onsessioninitialized: id => sessions.set(id, transport),
        onsessionclosed: id => sessions.delete(id)
    });
    await makeServer(toolbox).connect(transport);
    return transport;
}

async function fetch(request) {
    if (!(await isLegacyRequest(request))) return modern.fetch(request);
    const id = request.headers.get('mcp-session-id');
    const transport = id === null ? await openSession() : sessions.get(id);
    return transport ? transport.handleRequest(request) : Response.json(SESSION_NOT_FOUND, { status: 404 });
}

if (args.stdio) serveStdio(() => makeServer(toolbox));
else serveHttp(toNodeHandler({ fetch }), args);
