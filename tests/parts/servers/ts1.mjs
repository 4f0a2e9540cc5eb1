// A test server on the MCP TypeScript SDK 1.x: stdio, or Streamable HTTP and the older HTTP+SSE.

import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
    CallToolRequestSchema,
    CreateMessageResultSchema,
    ElicitResultSchema,
    ListToolsRequestSchema
} from '@modelcontextprotocol/sdk/types.js';
import { readArguments, serveHttp, SESSION_NOT_FOUND } from './serving.mjs';
import { ANSWER_SCHEMA, answerOf, asResult, Toolbox, ToolFailed, TOOLS } from './toolbox.mjs';

function callerOf({ _meta, sendNotification, sendRequest }) {
    const ask = async (method, params, schema) => answerOf(await sendRequest({ method, params }, schema));
    return {
        async progress(progress, total) {
            const progressToken = _meta?.progressToken;
            if (progressToken === undefined) return;
            await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total } });
        },
        askUser: message =>
            ask('elicitation/create', { message, requestedSchema: ANSWER_SCHEMA }, ElicitResultSchema),
        askModel(text) {
            const messages = [{ role: 'user', content: { type: 'text', text } }];
            return ask('sampling/createMessage', { messages, maxTokens: 100 }, CreateMessageResultSchema);
        }
    };
}

function makeServer(toolbox) {
    const server = new Server({ name: 'agentfence-test-ts1', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
        try {
            return asResult(await toolbox.call(params.name, params.arguments, callerOf(extra)));
        } catch (error) {
            if (error instanceof ToolFailed) return { ...asResult(error.message), isError: true };
            throw error;
        }
    });
    return server;
}

const args = readArguments();
const toolbox = new Toolbox(args.record);
const sessions = new Map();

async function openSession() {
    const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: args.json,
        onsessioninitialized: id => sessions.set(id, transport),
        onsessionclosed: id => sessions.delete(id)
    });
    await makeServer(toolbox).connect(transport);
    return transport;
}

function refuseSession(response) {
    response.writeHead(404, { 'Content-Type': 'application/json' }).end(JSON.stringify(SESSION_NOT_FOUND));
}

async function answerStreamable(request, response) {
    const id = request.headers['mcp-session-id'];
    const transport = id === undefined ? await openSession() : sessions.get(id);
    await (transport ? transport.handleRequest(request, response) : refuseSession(response));
}

async function openSse(response) {
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, transport);
    await makeServer(toolbox).connect(transport);
}

async function takeSseMessage(id, request, response) {
    const transport = sessions.get(id);
    await (transport ? transport.handlePostMessage(request, response) : refuseSession(response));
}

async function answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    if (pathname === '/mcp') await answerStreamable(request, response);
    else if (pathname === '/sse') await openSse(response);
    else if (pathname === '/messages') await takeSseMessage(searchParams.get('sessionId'), request, response);
    else response.writeHead(404).end();
}

if (args.stdio) await makeServer(toolbox).connect(new StdioServerTransport());
else serveHttp(answer, args);
